import { WireWriter } from "@pawl/proto/wire/writer.js";

/** Content after which a message is closed and another begun, in bytes; no single part comes near the bound of 4 MiB. */
const messageBytesTarget = 1_048_576;

/**
 * Messages that are encoded while their segment is synced and sent once it is durable, with the position that is known only then.
 * What one turn gives is one message, unless it is very long.
 */
export class SealedMessages {
  /** Where the parts are written, field by field; `cut` after each. */
  readonly writer: WireWriter = new WireWriter();
  readonly #positionTag: number;
  #full: Uint8Array[] = [];

  /** @param positionTag tag of the position's field. It must be a message's last field, so that it can be appended. */
  constructor(positionTag: number) {
    this.#positionTag = positionTag;
  }

  get isEmpty(): boolean {
    return this.writer.pos === 0 && this.#full.length === 0;
  }

  /** Begins another message when this one is long enough. */
  cut(): void {
    if (this.writer.pos >= messageBytesTarget) {
      this.#full.push(this.writer.finish());
      this.writer.reset();
    }
  }

  /** Takes out what was sealed, ready to be sent. */
  take(position: Uint8Array): Buffer[] {
    const messages: Buffer[] = [];
    const last = this.#finish(position);
    for (const full of this.#full) {
      this.writer.raw(full);
      messages.push(this.#finish(position));
    }
    this.#full = [];
    messages.push(last);
    return messages;
  }

  #finish(position: Uint8Array): Buffer {
    if (position.length > 0) {
      this.writer.tag(this.#positionTag);
      this.writer.bytes(position);
    }
    const message = Buffer.from(this.writer.view());
    this.writer.reset();
    return message;
  }
}

import { create } from "@bufbuild/protobuf";
import { type EmitItem, EmitItemSchema } from "@pawl/proto/v1/worker_service_pb.js";
import { Content } from "../content.js";
import { DefinitionInvalid, TooLarge } from "../errors.js";
import type { EmitOptions } from "../output.js";
import { encodeValue, payloadBytes } from "./codec.js";
import { checkText } from "./ids.js";
import type { Lease } from "./lease.js";

/** Longest chunk, in bytes: the kernel's own bound. */
const CHUNK_BYTES_MAX = 32_768;

/** Most channels under one lease: the kernel's own bound. */
const CHANNELS_MAX = 64;

/** Longest name of a channel, in bytes of UTF-8. */
const CHANNEL_BYTES_MAX = 200;

/** Content type of bytes that were emitted as they are. */
export const BYTES_TYPE = "application/octet-stream";

/** Numbers the chunks of one attempt. */
export class Emitter {
  readonly #lease: Lease;
  readonly #numbers = new Map<string, number>();

  constructor(lease: Lease) {
    this.#lease = lease;
  }

  /**
   * The item of a chunk; undefined when there is nothing to emit.
   *
   * @throws ValueRefused, TooLarge, DefinitionInvalid.
   */
  make(value: unknown, { channel = "" }: EmitOptions): EmitItem | undefined {
    const number = this.#numbers.get(channel) ?? 0;
    if (number === 0) {
      this.#checkChannel(channel);
    }
    // The caller may go on to use its buffer.
    const sent = value instanceof Uint8Array ? new Content(BYTES_TYPE, value.slice()) : value;
    const payload = encodeValue(sent, "the chunk");
    if (payload === undefined) {
      return undefined;
    }
    const bytes = payloadBytes(payload);
    if (bytes > CHUNK_BYTES_MAX) {
      throw new TooLarge(
        `Expected a chunk of live output of at most ${CHUNK_BYTES_MAX} bytes, but it has ${bytes}. Emit it in parts.`,
      );
    }
    this.#numbers.set(channel, number + 1);
    const { handle, leaseVersion } = this.#lease;
    return create(EmitItemSchema, { handle, leaseVersion, channel, number: number + 1, payload });
  }

  #checkChannel(channel: string): void {
    checkText(channel, "the name of a channel", CHANNEL_BYTES_MAX);
    if (this.#numbers.size >= CHANNELS_MAX) {
      throw new DefinitionInvalid(
        `Expected at most ${CHANNELS_MAX} channels of live output in an attempt, but "${channel}" is another one. Put what differs into the chunks.`,
      );
    }
  }
}

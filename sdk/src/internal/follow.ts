import { DefinitionInvalid } from "../errors.js";
import type { ClientCore } from "./client-core.js";
import { Reopening } from "./reopening.js";
import { readPosition } from "./watch-run.js";

/** Where a watch of a namespace begins, and what ends it. */
export interface FollowOptions {
  readonly after?: string;
  readonly current?: boolean;
  readonly signal?: AbortSignal;
}

/** How a stream of changes is opened and read. */
export interface FollowParts<Message, Told> {
  readonly open: (position: Uint8Array, signal: AbortSignal) => AsyncIterable<Message>;
  /** The changes of a message; `position` is that of its last one. */
  readonly read: (message: Message, position: string) => Iterable<Told>;
  /** What is so already, read when the watch has begun. */
  readonly current: () => AsyncIterable<Told>;
}

/**
 * Changes from a position on, over however many streams. The first message of a stream says where it begins, so what is listed behind it
 * misses nothing.
 */
export async function* follow<Message extends { readonly position: Uint8Array }, Told>(
  core: ClientCore,
  options: FollowOptions,
  { open, read, current }: FollowParts<Message, Told>,
): AsyncGenerator<Told> {
  if (options.current === true && options.after !== undefined) {
    throw new DefinitionInvalid(
      "Expected a watch to begin with what is there now or after a position, but both are asked for. Give `current` at first, and `after` to go on.",
    );
  }
  const { signal } = core.unary(options.signal);
  const reopening = new Reopening(core, signal);
  let position: Uint8Array = readPosition(options.after);
  let isCurrentTold = options.current !== true;
  for (;;) {
    signal.throwIfAborted();
    try {
      for await (const message of open(position, signal)) {
        reopening.answered();
        position = message.position;
        if (!isCurrentTold) {
          yield* current();
          isCurrentTold = true;
        }
        yield* read(message, Buffer.from(position).toString("base64url"));
      }
    } catch (cause) {
      reopening.failed(cause);
    }
    await reopening.next();
  }
}

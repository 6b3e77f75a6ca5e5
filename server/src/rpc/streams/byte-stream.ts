import type { Rejection } from "../../core/rejection.js";

/** What a hot stream writes to: a bidi call whose messages are bytes. */
export interface ByteStream {
  /** Writes one message. False when enough is buffered: stop reading until `drained`. */
  write(message: Buffer): boolean;
  /** Reads no further messages. */
  pause(): void;
  /** Reads on. */
  resume(): void;
  /** Ends the stream well. */
  end(): void;
  /** Ends the stream with a refusal. */
  fail(rejection: Rejection): void;
}

/** What a hot stream is told by its transport. */
export interface ByteStreamListener {
  /** One message. The bytes are the listener's: nobody changes them. */
  message(bytes: Uint8Array): void;
  /** What was buffered is gone. */
  drained(): void;
  /** The other side sends no more, but may still read. */
  halfClosed(): void;
  /** The stream is gone. */
  gone(): void;
}

import type { handleBidiStreamingCall, ServerDuplexStream } from "@grpc/grpc-js";
import type { Rejection } from "../../core/rejection.js";
import type { Edge } from "../edge.js";
import { rejectionOf } from "../fault.js";
import type { ByteStream, ByteStreamListener } from "../streams/byte-stream.js";
import { grpcStatus } from "./grpc-status.js";

/** Makes the listener of a new stream. */
export type OpenByteStream = (stream: ByteStream) => ByteStreamListener;

/** The grpc-js handler of a method whose messages stay bytes. */
export function byteHandler(
  edge: Edge,
  where: string,
  open: OpenByteStream,
): handleBidiStreamingCall<Buffer, Buffer> {
  return (call) => {
    const stream = new ByteCall(call);
    const { refusal } = edge.lifecycle;
    if (refusal !== undefined) {
      edge.meter.refused(refusal);
      stream.fail(refusal);
      return;
    }
    const listener = open(stream);
    let isGone = false;
    const gone = (): void => {
      if (!isGone) {
        isGone = true;
        listener.gone();
      }
    };
    call.on("data", (bytes: Buffer) => {
      try {
        listener.message(bytes);
      } catch (error) {
        const rejection = rejectionOf(edge, error, where);
        gone();
        if (rejection !== undefined) {
          stream.fail(rejection);
        }
      }
    });
    call.on("drain", () => listener.drained());
    call.on("end", () => listener.halfClosed());
    call.on("cancelled", gone);
    call.on("error", gone);
    call.on("close", gone);
  };
}

class ByteCall implements ByteStream {
  readonly #call: ServerDuplexStream<Buffer, Buffer>;
  #isEnded = false;

  constructor(call: ServerDuplexStream<Buffer, Buffer>) {
    this.#call = call;
  }

  write(message: Buffer): boolean {
    return this.#isEnded || this.#call.write(message);
  }

  pause(): void {
    this.#call.pause();
  }

  resume(): void {
    this.#call.resume();
  }

  end(): void {
    if (!this.#isEnded) {
      this.#isEnded = true;
      this.#call.end();
    }
  }

  fail(rejection: Rejection): void {
    if (!this.#isEnded) {
      this.#isEnded = true;
      this.#call.emit("error", grpcStatus(rejection));
    }
  }
}

import type { DescMethod } from "@bufbuild/protobuf";
import type { handleBidiStreamingCall, ServerDuplexStream } from "@grpc/grpc-js";
import type { Rejection } from "../../core/rejection.js";
import type { Timers } from "../../kernel/ports.js";
import type { Credential } from "../access/credential.js";
import { guardOf } from "../access/gate.js";
import { StreamAccess } from "../access/stream-access.js";
import type { Edge } from "../edge.js";
import { rejectionOf } from "../fault.js";
import { internalFault } from "../refusals.js";
import type { ByteStream, ByteStreamListener } from "../streams/byte-stream.js";
import { cutUnread } from "./cut-unread.js";
import { proofOf, requireOwnHost } from "./grpc-proof.js";
import { grpcStatus } from "./grpc-status.js";

/** Makes the listener of a new stream. */
export type OpenByteStream = (stream: ByteStream, access: StreamAccess) => ByteStreamListener;

/** The grpc-js handler of a method whose messages stay bytes. */
export function byteHandler(
  edge: Edge,
  method: DescMethod,
  open: OpenByteStream,
): handleBidiStreamingCall<Buffer, Buffer> {
  const guarded = guardOf(method);
  return (call) => {
    const stream = new ByteCall(call, edge.timers);
    const { refusal } = edge.lifecycle;
    if (refusal !== undefined) {
      edge.meter.refused(refusal);
      stream.fail(refusal);
      return;
    }
    let credential: Credential;
    try {
      requireOwnHost(edge, call);
      credential = edge.gate.identify(guarded, proofOf(call));
    } catch (error) {
      stream.fail(rejectionOf(edge, error, guarded.name) ?? internalFault());
      return;
    }
    const listener = open(stream, new StreamAccess(edge.gate, credential, guarded));
    let isGone = false;
    const gone = (): void => {
      if (!isGone) {
        isGone = true;
        credential.remove(tied);
        listener.gone();
      }
    };
    // The lifecycle asks the listener itself to drain; only the end of the credential comes this way.
    const tied = {
      drain: () => {},
      abort: (rejection: Rejection) => {
        gone();
        stream.fail(rejection);
      },
    };
    credential.add(tied);
    call.on("data", (bytes: Buffer) => {
      if (isGone) {
        return; // Its credential ended. The status may be long on its way to a client that does not read.
      }
      try {
        listener.message(bytes);
      } catch (error) {
        const rejection = rejectionOf(edge, error, guarded.name);
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
  readonly #timers: Timers;
  #isEnded = false;

  constructor(call: ServerDuplexStream<Buffer, Buffer>, timers: Timers) {
    this.#call = call;
    this.#timers = timers;
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
      cutUnread(this.#call, this.#timers);
    }
  }
}

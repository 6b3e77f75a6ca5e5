import { fromBinary, type Message } from "@bufbuild/protobuf";
import type {
  handleBidiStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  MethodDefinition,
  ServerDuplexStream,
  ServerWritableStream,
  UntypedHandleCall,
} from "@grpc/grpc-js";
import { limits } from "../../core/limits.js";
import type { Rejection } from "../../core/rejection.js";
import { RejectionError } from "../../kernel/outcome.js";
import { Credential } from "../access/credential.js";
import { admitCall, type Binding, refusalOf } from "../binding.js";
import { CallScope } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { encodeAnswer } from "../encoded-answers.js";
import { endOf } from "../fault.js";
import { internalFault, tooLarge, unreadableMessage } from "../refusals.js";
import type { StatusError } from "../status-error.js";
import { cutUnread } from "./cut-unread.js";
import { type AuthenticatedCall, proofOf, requireOwnHost } from "./grpc-proof.js";
import { grpcStatus } from "./grpc-status.js";

/** Bytes stay bytes: what they mean is decided where a refusal can say so. */
function identity(bytes: Buffer): Buffer {
  return bytes;
}

/** Definition of a method that takes and gives bytes. */
export function bytesMethod(method: Binding["method"]): MethodDefinition<Buffer, Buffer> {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: method.methodKind === "bidi_streaming",
    responseStream: method.methodKind !== "unary",
    requestSerialize: identity,
    requestDeserialize: identity,
    responseSerialize: identity,
    responseDeserialize: identity,
  };
}

/** The grpc-js handler of a bound method. */
export function grpcHandler(edge: Edge, binding: Binding): UntypedHandleCall {
  switch (binding.kind) {
    case "unary":
      return unaryHandler(edge, binding);
    case "server_streaming":
      return streamHandler(edge, binding);
    case "bidi_streaming":
      return duplexHandler(edge, binding);
  }
}

/** Who calls, or why it is nobody. */
function identify(
  edge: Edge,
  { guarded }: Binding,
  call: AuthenticatedCall,
): Credential | Rejection | StatusError {
  try {
    requireOwnHost(edge, call);
    return edge.gate.identify(guarded, proofOf(call));
  } catch (error) {
    return endOf(edge, error, guarded.name) ?? internalFault();
  }
}

function requireServing(edge: Edge, binding: Binding): void {
  const refusal = refusalOf(edge, binding);
  if (refusal !== undefined) {
    throw new RejectionError(refusal);
  }
}

function decode(method: Binding["method"], bytes: Buffer): Message {
  try {
    return fromBinary(method.input, bytes);
  } catch (error) {
    throw unreadableMessage(method.input.typeName, error);
  }
}

function encode(method: Binding["method"], message: Message): Buffer {
  const bytes = encodeAnswer(method.output, message);
  if (bytes.length > limits.messageBytesMax) {
    throw new RejectionError(tooLarge(bytes.length));
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function unaryHandler(
  edge: Edge,
  binding: Extract<Binding, { kind: "unary" }>,
): handleUnaryCall<Buffer, Buffer> {
  const { method, handle } = binding;
  return (call, callback) => {
    let isAnswered = false;
    const credential = identify(edge, binding, call);
    if (!(credential instanceof Credential)) {
      callback(grpcStatus(credential));
      return;
    }
    const scope = new CallScope(credential, edge.lifecycle, (rejection) => {
      if (!isAnswered) {
        isAnswered = true;
        callback(grpcStatus(rejection));
      }
    });
    call.on("cancelled", () => scope.cancel());
    const answer = async (): Promise<Buffer> => {
      requireServing(edge, binding);
      const request = decode(method, call.request);
      admitCall(edge, binding, request, scope);
      return encode(method, await handle(request, scope));
    };
    answer().then(
      (bytes) => {
        scope.end();
        if (!isAnswered) {
          isAnswered = true;
          callback(null, bytes);
        }
      },
      (error: unknown) => {
        scope.end();
        const rejection = endOf(edge, error, method.name);
        if (!isAnswered && rejection !== undefined) {
          isAnswered = true;
          callback(grpcStatus(rejection));
        }
      },
    );
  };
}

function streamHandler(
  edge: Edge,
  binding: Extract<Binding, { kind: "server_streaming" }>,
): handleServerStreamingCall<Buffer, Buffer> {
  const { method, handle } = binding;
  return (call) => {
    serve(edge, call, binding, (scope) => {
      requireServing(edge, binding);
      const request = decode(method, call.request);
      admitCall(edge, binding, request, scope);
      return handle(request, scope);
    });
  };
}

function duplexHandler(
  edge: Edge,
  binding: Extract<Binding, { kind: "bidi_streaming" }>,
): handleBidiStreamingCall<Buffer, Buffer> {
  const { method, handle } = binding;
  return (call) => {
    serve(edge, call, binding, (scope) => {
      requireServing(edge, binding);
      scope.caller = edge.gate.authorize(scope.credential, binding.guarded, "");
      return handle(decodeAll(method, call), scope);
    });
  };
}

async function* decodeAll(
  method: Binding["method"],
  call: ServerDuplexStream<Buffer, Buffer>,
): AsyncIterable<Message> {
  // Plain iteration would destroy the call at the end of the requests, with answers still to be sent.
  for await (const bytes of call.iterator({ destroyOnReturn: false })) {
    yield decode(method, bytes);
  }
}

type WritableCall = ServerWritableStream<Buffer, Buffer> | ServerDuplexStream<Buffer, Buffer>;

function serve(
  edge: Edge,
  call: WritableCall,
  binding: Binding,
  begin: (scope: CallScope) => AsyncIterable<Message>,
): void {
  const { method } = binding;
  const credential = identify(edge, binding, call);
  if (!(credential instanceof Credential)) {
    call.emit("error", grpcStatus(credential));
    return;
  }
  let isFailed = false;
  const scope = new CallScope(credential, edge.lifecycle, (rejection) => {
    isFailed = true;
    call.emit("error", grpcStatus(rejection));
    cutUnread(call, edge.timers);
  });
  call.on("cancelled", () => scope.cancel());
  pump(call, method, () => begin(scope), scope.signal).then(
    () => {
      scope.end();
      call.end();
    },
    (error: unknown) => {
      scope.end();
      if (isFailed) {
        return; // What a reader of its requests is thrown then is the status that ended it.
      }
      const rejection = endOf(edge, error, method.name);
      if (rejection !== undefined && !call.writableEnded) {
        call.emit("error", grpcStatus(rejection));
      }
    },
  );
}

/** Writes message by message, and no faster than the reader takes them: grpc-js itself would buffer without end. */
async function pump(
  call: WritableCall,
  method: Binding["method"],
  begin: () => AsyncIterable<Message>,
  signal: AbortSignal,
): Promise<void> {
  for await (const message of begin()) {
    if (!call.write(encode(method, message))) {
      await drained(call, signal);
    }
  }
}

function drained(call: WritableCall, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      call.off("drain", settle);
      signal.removeEventListener("abort", settle);
      if (signal.aborted) {
        reject(signal.reason);
      } else {
        resolve();
      }
    };
    call.once("drain", settle);
    signal.addEventListener("abort", settle, { once: true });
    if (signal.aborted) {
      settle();
    }
  });
}

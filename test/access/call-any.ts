import {
  create,
  type DescMethod,
  type DescMethodBiDiStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type Message,
} from "@bufbuild/protobuf";
import { SubmitRequestSchema } from "@pawl/proto/v1/run_service_pb.js";
import { WorkRequestSchema } from "@pawl/proto/v1/worker_service_pb.js";
import { type Duplex, GrpcClient } from "../rpc/support/grpc-client.js";
import type { JsonClient } from "../rpc/support/json-client.js";
import { Refusal } from "../rpc/support/refusal.js";

/**
 * Calls a method with nothing but a namespace; gives how it was refused, or undefined when the call went on (the method then has its
 * own objections to an empty request, or none).
 */
export async function callAny(
  client: GrpcClient | JsonClient,
  method: DescMethod,
  namespace: string,
): Promise<Refusal | undefined> {
  try {
    if (isUnary(method)) {
      await client.unary(method, requestOf(method, namespace));
    } else if (isServerStreaming(method)) {
      const first = client.stream(method, requestOf(method, namespace))[Symbol.asyncIterator]();
      // One that waits for events was let in.
      await Promise.race([first.next(), delay(1_500)]);
      await Promise.race([first.return?.(), delay(1_500)]);
    } else if (isDuplex(method) && client instanceof GrpcClient) {
      await callDuplex(client, method, namespace);
    }
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) {
      return error;
    }
    throw error;
  }
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function isServerStreaming(method: DescMethod): method is DescMethodServerStreaming {
  return method.methodKind === "server_streaming";
}

function isDuplex(method: DescMethod): method is DescMethodBiDiStreaming {
  return method.methodKind === "bidi_streaming";
}

function requestOf(method: DescMethod, namespace: string): Message {
  const request = create(method.input);
  if (method.input.field["namespace"] !== undefined) {
    Reflect.set(request, "namespace", namespace);
  }
  return request;
}

/** The two streams that say their namespace in their messages; the refusal of an item is that of the call. */
async function callDuplex(
  client: GrpcClient,
  method: DescMethodBiDiStreaming,
  namespace: string,
): Promise<void> {
  const stream: Duplex<DescMethodBiDiStreaming> = client.duplex(method);
  if (method.name === "Work") {
    const hello = { protocolVersion: 1, sessionId: "s", namespace, serves: [{ kind: "k" }] };
    stream.send(create(WorkRequestSchema, { hello }));
  } else {
    stream.send(
      create(SubmitRequestSchema, { namespace, waits: [{ correlation: 1, runId: "absent" }] }),
    );
  }
  try {
    const message = await stream.next();
    const results: unknown = Reflect.get(message, "results");
    const first: unknown = Array.isArray(results) ? results[0] : undefined;
    const rejection: unknown =
      typeof first === "object" && first !== null ? Reflect.get(first, "rejection") : undefined;
    if (isRejection(rejection) && rejection.reason !== "PAWL_RUN_NOT_FOUND") {
      throw itemRefusal(rejection);
    }
  } finally {
    stream.cancel();
  }
}

type RejectionMessage = NonNullable<Refusal["rejection"]>;

function isRejection(value: unknown): value is RejectionMessage {
  return typeof value === "object" && value !== null && "reason" in value && "message" in value;
}

/** An item's refusal has no status: these two reasons have the code of their call. */
function itemRefusal(rejection: RejectionMessage): Refusal {
  const codes: Readonly<Record<string, string>> = {
    PAWL_PERMISSION_DENIED: "PERMISSION_DENIED",
    PAWL_NAMESPACE_NOT_FOUND: "NOT_FOUND",
  };
  const { reason, message } = rejection;
  return new Refusal({ code: codes[reason] ?? "?", reason, message, rejection });
}

function delay(ms: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(undefined), ms);
  });
}

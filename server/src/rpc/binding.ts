import {
  create,
  type DescMessage,
  type DescMethod,
  type DescService,
  type Message,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import type { Rejection } from "../core/rejection.js";
import { type GuardedMethod, guardOf } from "./access/gate.js";
import type { CallContext, CallScope } from "./call-scope.js";
import type { Edge } from "./edge.js";
import type { ServiceHandlers } from "./handlers/handler.js";
import { readNamespace } from "./validate/fields.js";

/** A method with its handler, as the adapters take it: whole messages in and out. */
export type Binding =
  | {
      readonly kind: "unary";
      readonly method: DescMethod;
      readonly guarded: GuardedMethod;
      readonly handle: (request: Message, call: CallContext) => Promise<Message>;
    }
  | {
      readonly kind: "server_streaming";
      readonly method: DescMethod;
      readonly guarded: GuardedMethod;
      readonly handle: (request: Message, call: CallContext) => AsyncIterable<Message>;
    }
  | {
      readonly kind: "bidi_streaming";
      readonly method: DescMethod;
      readonly guarded: GuardedMethod;
      readonly handle: (
        requests: AsyncIterable<Message>,
        call: CallContext,
      ) => AsyncIterable<Message>;
    };

/** A service with what is bound of it. */
export interface BoundService {
  readonly service: DescService;
  readonly bindings: readonly Binding[];
}

type Init = MessageInitShape<DescMessage>;
type Unary = (request: Message, call: CallContext) => Promise<Init>;
type Streaming = (request: Message, call: CallContext) => AsyncIterable<Init>;
type Duplex = (requests: AsyncIterable<Message>, call: CallContext) => AsyncIterable<Init>;

/**
 * Binds the handlers of a service to its methods, for the adapters. Methods without a handler are those that are served on bytes.
 * The types were checked where the handlers were written; here they are looked up by name, which no type can follow.
 */
export function bindService<S extends DescService, Raw extends string = never>(
  service: S,
  handlers: ServiceHandlers<S, Raw>,
): BoundService {
  const byName: Readonly<Record<string, unknown>> = handlers;
  const bindings = service.methods.flatMap((method) => {
    const handler = byName[method.localName];
    return handler === undefined ? [] : [bindMethod(method, handler)];
  });
  return { service, bindings };
}

function bindMethod(method: DescMethod, handler: unknown): Binding {
  const guarded = guardOf(method);
  switch (method.methodKind) {
    case "unary": {
      const unary = handler as Unary;
      const handle = async (request: Message, call: CallContext): Promise<Message> =>
        create(method.output, await unary(request, call));
      return { kind: "unary", method, guarded, handle };
    }
    case "server_streaming": {
      const streaming = handler as Streaming;
      return {
        kind: "server_streaming",
        method,
        guarded,
        handle: (request, call) => messagesOf(method, streaming(request, call)),
      };
    }
    case "bidi_streaming": {
      const duplex = handler as Duplex;
      return {
        kind: "bidi_streaming",
        method,
        guarded,
        handle: (requests, call) => messagesOf(method, duplex(requests, call)),
      };
    }
    case "client_streaming":
      throw new TypeError(`Expected no client-streaming method, but ${method.name} is one.`);
  }
}

async function* messagesOf(method: DescMethod, parts: AsyncIterable<Init>): AsyncIterable<Message> {
  for await (const part of parts) {
    yield create(method.output, part);
  }
}

/**
 * Lets a request through to its handler, which finds in the call who gives its commands.
 *
 * @throws RejectionError as `Gate.authorize` and `ContentScreen.screenRequest` do.
 */
export function admitCall(
  edge: Edge,
  { guarded, method }: Binding,
  request: Message,
  call: CallScope,
): void {
  const field: unknown = Reflect.get(request, "namespace");
  const namespace = typeof field === "string" ? field : "";
  call.caller = edge.gate.authorize(call.credential, guarded, namespace);
  if (guarded.row?.scope === "namespace" && mayRecord(method)) {
    const items = batchFields[method.localName];
    edge.screen.screenRequest(readNamespace(namespace), method.input, request, items);
  }
}

/** The fields with the items of a batch, by method: each item has its own answer. */
const batchFields: Readonly<Record<string, string>> = {
  startRuns: "runs",
  reportOutputs: "reports",
  recordSteps: "steps",
  recordObligations: "obligations",
  startChildren: "children",
};

/** What only reads records nothing of its request. */
function mayRecord({ name }: DescMethod): boolean {
  return !/^(?:Get|List|Watch|Read|Query|AwaitResults|AwaitApproval)/.test(name);
}

/**
 * Why a call is refused before its handler sees it: whatever begins while the store has failed, and every stream that begins while
 * the kernel goes away. Single requests are still answered then: reports of running work are worth more than a quick end.
 */
export function refusalOf(edge: Edge, { kind }: Binding): Rejection | undefined {
  const { state, refusal } = edge.lifecycle;
  return kind === "unary" && state === "draining" ? undefined : refusal;
}

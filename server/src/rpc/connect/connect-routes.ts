import type { Message } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type HandlerContext,
  type ServiceImpl,
} from "@connectrpc/connect";
import { admitCall, type Binding, type BoundService, refusalOf } from "../binding.js";
import { CallScope } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { endOf } from "../fault.js";
import { connectError } from "./connect-error.js";
import { proofOf, responseOf } from "./connect-proof.js";
import { cutUnreadResponse } from "./cut-unread-response.js";

type UnaryImplementation = (request: Message, context: HandlerContext) => Promise<Message>;
type StreamImplementation = (request: Message, context: HandlerContext) => AsyncIterable<Message>;

/** Registers what can be served over HTTP/1.1: all but the methods that stream both ways. */
export function registerRoutes(
  router: ConnectRouter,
  edge: Edge,
  services: readonly BoundService[],
): void {
  for (const { service, bindings } of services) {
    const implementation: Record<string, UnaryImplementation | StreamImplementation> = {};
    for (const binding of bindings) {
      if (binding.kind === "unary") {
        implementation[binding.method.localName] = unary(edge, binding);
      } else if (binding.kind === "server_streaming") {
        implementation[binding.method.localName] = streaming(edge, binding);
      }
    }
    // Built by name, as in `bindService`: the types were checked where the handlers were written, and none can follow to here.
    router.service(service, implementation as unknown as Partial<ServiceImpl<typeof service>>);
  }
}

function unary(edge: Edge, binding: Extract<Binding, { kind: "unary" }>): UnaryImplementation {
  return (request, context) =>
    new Promise((resolve, reject) => {
      const refusal = refusalOf(edge, binding);
      if (refusal !== undefined) {
        edge.meter.refused(refusal);
        reject(connectError(refusal));
        return;
      }
      let scope: CallScope;
      try {
        scope = openScope(edge, binding, context, reject);
      } catch (error) {
        reject(toConnectError(edge, error, binding.method.name));
        return;
      }
      const answer = async (): Promise<Message> => {
        admitCall(edge, binding, request, scope);
        return await binding.handle(request, scope);
      };
      answer().then(
        (message) => {
          scope.end();
          resolve(message);
        },
        (error: unknown) => {
          scope.end();
          reject(toConnectError(edge, error, binding.method.name));
        },
      );
    });
}

function streaming(
  edge: Edge,
  binding: Extract<Binding, { kind: "server_streaming" }>,
): StreamImplementation {
  return async function* stream(request, context) {
    const refusal = refusalOf(edge, binding);
    if (refusal !== undefined) {
      edge.meter.refused(refusal);
      throw connectError(refusal);
    }
    let scope: CallScope | undefined;
    try {
      // The end is told when the next message is asked for, and nobody asks while the client does not read.
      scope = openScope(edge, binding, context, () =>
        cutUnreadResponse(responseOf(context), edge.timers),
      );
      admitCall(edge, binding, request, scope);
      yield* binding.handle(request, scope);
    } catch (error) {
      throw toConnectError(edge, error, binding.method.name);
    } finally {
      scope?.end();
    }
  };
}

function openScope(
  edge: Edge,
  { guarded }: Binding,
  context: HandlerContext,
  fail: (error: ConnectError) => void,
): CallScope {
  const credential = edge.gate.identify(guarded, proofOf(context));
  const scope = new CallScope(credential, edge.lifecycle, (rejection) =>
    fail(connectError(rejection)),
  );
  context.signal.addEventListener("abort", () => scope.cancel(), { once: true });
  return scope;
}

function toConnectError(edge: Edge, error: unknown, where: string): ConnectError {
  const rejection = endOf(edge, error, where);
  return rejection === undefined
    ? new ConnectError(
        "Expected the caller to wait for the answer, but it has gone.",
        Code.Canceled,
      )
    : connectError(rejection);
}

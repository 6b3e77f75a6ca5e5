import {
  type DescMessage,
  fromBinary,
  isMessage,
  type Message,
  toBinary,
} from "@bufbuild/protobuf";
import { SubmitRequestSchema } from "@pawl/proto/v1/run_service_pb.js";
import { decodeSubmitRequest, type SubmitRequestShape } from "@pawl/proto/v1/run_service_wire.js";
import { HelloSchema, WorkRequestSchema } from "@pawl/proto/v1/worker_service_pb.js";
import { decodeWorkRequest, type WorkRequestShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { Rejection } from "../../core/rejection.js";
import { RejectionError } from "../../kernel/outcome.js";
import { readNamespace } from "../validate/fields.js";
import type { ContentScreen } from "./content-screen.js";

/** A message of a hot stream without the credentials that were in it, and the items that are refused for them. */
export interface Screened<M> {
  readonly request: M;
  readonly refused: ReadonlyMap<object, Rejection>;
}

/** What a worker's message is not answered for; what is refused of it is left out. */
const unanswered: ReadonlySet<string> = new Set(["progress", "emits"]);

/** Looks through a worker's message. @throws RejectionError PAWL_CREDENTIAL_IN_PAYLOAD for what is said of the worker itself. */
export function screenWork(
  screen: ContentScreen,
  namespace: string,
  bytes: Uint8Array,
): Screened<WorkRequestShape> {
  const message = fromBinary(WorkRequestSchema, bytes);
  const refusals = screenLists(screen, namespace, { desc: WorkRequestSchema, message });
  const refusal = message.hello && screen.screenItem(namespace, HelloSchema, message.hello);
  if (refusal !== undefined) {
    throw new RejectionError(refusal);
  }
  const request = decodeWorkRequest(toBinary(WorkRequestSchema, message));
  return { request, refused: byItem(request, refusals) };
}

/** Looks through a message of a client. One that names no namespace is left as it is: all of it is refused for that. */
export function screenSubmit(
  screen: ContentScreen,
  namespaceField: string,
  bytes: Uint8Array,
): Screened<SubmitRequestShape> {
  const message = fromBinary(SubmitRequestSchema, bytes);
  const namespace = readNamespace(namespaceField);
  const refusals = screenLists(screen, namespace, { desc: SubmitRequestSchema, message });
  const request = decodeSubmitRequest(toBinary(SubmitRequestSchema, message));
  return { request, refused: byItem(request, refusals) };
}

type Refusals = readonly (readonly [list: string, index: number, rejection: Rejection])[];

function screenLists(
  screen: ContentScreen,
  namespace: string,
  { desc, message }: { readonly desc: DescMessage; readonly message: Message },
): Refusals {
  const refusals: [string, number, Rejection][] = [];
  for (const field of desc.fields) {
    if (field.fieldKind !== "list" || field.listKind !== "message") {
      continue;
    }
    const list: unknown = Reflect.get(message, field.localName);
    const items: readonly unknown[] = Array.isArray(list) ? list : [];
    const kept = items.filter((item, index) => {
      const rejection = isMessage(item)
        ? screen.screenItem(namespace, field.message, item)
        : undefined;
      if (rejection !== undefined) {
        refusals.push([field.localName, index, rejection]);
      }
      return rejection === undefined;
    });
    if (unanswered.has(field.localName)) {
      Reflect.set(message, field.localName, kept);
    }
  }
  return refusals;
}

function byItem(request: object, refusals: Refusals): ReadonlyMap<object, Rejection> {
  const refused = new Map<object, Rejection>();
  for (const [name, index, rejection] of refusals) {
    const list: unknown = Reflect.get(request, name);
    const item: unknown = Array.isArray(list) ? list[index] : undefined;
    if (typeof item === "object" && item !== null && !unanswered.has(name)) {
      refused.set(item, rejection);
    }
  }
  return refused;
}

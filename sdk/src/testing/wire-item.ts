import { create } from "@bufbuild/protobuf";
import { type WorkRequest, WorkRequestSchema } from "@pawl/proto/v1/worker_service_pb.js";
import type { CrashSubject } from "./crash-point.js";

/** One thing that a worker tells the kernel and that is recorded, in a message of its own. */
export interface WireItem {
  readonly request: WorkRequest;
  readonly what: CrashSubject;
  readonly name: string;
  readonly handle: number;
  readonly correlation: number;
  /** Of an intent, and of the observation that belongs to it. */
  readonly intentId?: string;
}

/** Fields of a message whose items are recorded, in the order in which the kernel takes them. */
const ITEM_FIELDS = [
  "steps",
  "observations",
  "reconciliations",
  "intents",
  "calls",
  "waits",
  "obligations",
  "children",
  "reports",
  "suspends",
  "releases",
] as const satisfies readonly (keyof WorkRequest)[];

type Parts = Partial<Pick<WorkRequest, (typeof ITEM_FIELDS)[number]>>;

/** A message with everything that is not recorded; it goes first. Undefined when there is nothing. */
export function memoryPart(request: WorkRequest): WorkRequest | undefined {
  const head = Object.assign(create(WorkRequestSchema), request);
  for (const field of ITEM_FIELDS) head[field] = [];
  return Object.entries(head).some(([name, value]) => name !== "$typeName" && isSomething(value))
    ? head
    : undefined;
}

function isSomething(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return typeof value === "object" ? value !== null : Boolean(value);
}

/** Everything that is recorded, each in a message of its own, in the order in which the kernel takes it. */
export function splitItems(request: WorkRequest): WireItem[] {
  return [
    ...request.steps.map((item) => wireItem(item, "step", keyed(item), { steps: [item] })),
    ...request.observations.map((item) => ({
      ...wireItem(item, "observation", item.key, { observations: [item] }),
      intentId: item.intentId,
    })),
    ...request.reconciliations.map((item) => ({
      ...wireItem(item, "lookup", item.key, { reconciliations: [item] }),
      intentId: item.lookedUpIntentId,
    })),
    ...request.intents.map((item) => ({
      ...wireItem(item, "intent", item.operation?.name ?? "", { intents: [item] }),
      intentId: item.intentId,
    })),
    ...request.calls.map((item) => wireItem(item, "call", joined(item.tasks), { calls: [item] })),
    ...request.waits.map((item) => wireItem(item, "wait", joined(item.waits), { waits: [item] })),
    ...request.obligations.map((item) =>
      wireItem(item, "message", keyed(item), { obligations: [item] }),
    ),
    ...request.children.map((item) => wireItem(item, "child", keyed(item), { children: [item] })),
    ...request.reports.map((item) => wireItem(item, "completion", "", { reports: [item] })),
    ...request.suspends.map((item) =>
      wireItem(item, "suspend", joined(item.waits), { suspends: [item] }),
    ),
    ...request.releases.map((item) => wireItem(item, "release", "", { releases: [item] })),
  ];
}

function wireItem(
  { handle, correlation }: { readonly handle: number; readonly correlation: number },
  what: CrashSubject,
  name: string,
  parts: Parts,
): WireItem {
  const request = Object.assign(create(WorkRequestSchema), parts);
  return { request, what, name, handle, correlation };
}

function keyed({
  name,
  key,
}: {
  readonly name: string;
  readonly key?: string | undefined;
}): string {
  return key === undefined ? name : `${name}/${key}`;
}

/** Names of several, shortened. */
function joined(
  items: readonly { readonly name: string; readonly key?: string | undefined }[],
): string {
  const names = items.slice(0, 3).map(keyed);
  return items.length > 3 ? `${names.join(", ")}, …` : names.join(", ");
}

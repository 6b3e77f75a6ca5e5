import type { WorkRequestShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { Rejection } from "../../core/rejection.js";
import type { Target } from "../../kernel/outcome.js";
import { admit, admitFirst, isLarge } from "../admission.js";
import { contentOfReport, pathOfContent } from "../commands/report.js";
import { schemasOf } from "../commands/suspend.js";
import { jsonDocumentOf } from "../content.js";
import type { JsonDigest } from "../digest/json-digest.js";
import type { Edge } from "../edge.js";
import { rejectionOf } from "../fault.js";
import { internalFault } from "../refusals.js";
import { requireSchema, type SchemaParts } from "../schema/check-answer.js";
import { type OrderParts, orderOf, type WorkItem } from "./work-orders.js";

/** What had to be done about an item before its command could be decided. */
export interface Prepared {
  /** The content as it is to be recorded: a reference to what was stored. */
  readonly admitted?: Uint8Array | undefined;
  /** The inputs of calls as they are to be recorded, by their place: references to those that were stored. */
  readonly inputs?: ReadonlyMap<number, Uint8Array> | undefined;
  /** The `json` digest of a long document. */
  readonly digest?: JsonDigest | undefined;
  /** Why it could not be done. */
  readonly rejection?: Rejection | undefined;
}

/** What was prepared, by item. */
export type Preparations = ReadonlyMap<object, Prepared>;

/** An item that cannot be decided at once. */
export type HeldUpItem = LargeItem | AskingItem | CallingItem;

/** Calls with inputs that are kept beside the run. */
export interface CallingItem {
  readonly work: Extract<WorkItem, { kind: "call" }>;
  readonly large: readonly (readonly [number, Uint8Array])[];
}

/** A suspension, or waits that begin, that ask something: what a schema says is looked at elsewhere. */
export interface AskingItem {
  readonly work: Extract<WorkItem, { kind: "suspend" | "wait" }>;
  readonly schemas: ReturnType<typeof schemasOf>;
}

/** An item with content that is kept beside its run. */
export interface LargeItem {
  readonly work: WorkItem;
  readonly field: string;
  readonly payload: Uint8Array;
}

/** The items of a message whose content is too large to be recorded inside an event, or that ask with a schema. Usually there are none. */
export function heldUpItems(request: WorkRequestShape): readonly HeldUpItem[] {
  const found: HeldUpItem[] = [];
  const add = (work: WorkItem, field: string, payload: Uint8Array | undefined): void => {
    if (isLarge(payload)) {
      found.push({ work, field, payload });
    }
  };
  for (const item of request.steps) {
    const value = item.outcome.case === "value" ? item.outcome.value : undefined;
    add({ kind: "step", item }, "value", value);
  }
  for (const item of request.observations) {
    const outcome = item.observation?.outcome;
    const result = outcome?.case === "result" ? outcome.value : undefined;
    add({ kind: "observation", item }, "observation.result", result);
  }
  for (const item of request.reconciliations) {
    const finding = item.reconciliation?.finding;
    const value = finding?.case === "found" ? finding.value : undefined;
    add({ kind: "reconciliation", item }, "reconciliation.found", value);
  }
  for (const item of request.intents) {
    add({ kind: "intent", item }, "operation.payload", item.operation?.payload);
  }
  for (const item of request.reports) {
    const content = contentOfReport(item);
    add({ kind: "report", item }, pathOfContent(item), content);
  }
  const { suspends, waits, calls } = request;
  return suspends.length + waits.length + calls.length === 0
    ? found
    : [...found, ...askingItems(request), ...callingItems(calls)];
}

function askingItems({ suspends, waits }: WorkRequestShape): AskingItem[] {
  const asking = [
    ...suspends.map((item) => ({ kind: "suspend", item }) as const),
    ...waits.map((item) => ({ kind: "wait", item }) as const),
  ];
  return asking.flatMap((work) => {
    const schemas = schemasOf(work.item.waits);
    return schemas.length === 0 ? [] : [{ work, schemas }];
  });
}

function callingItems(calls: WorkRequestShape["calls"]): CallingItem[] {
  return calls.flatMap((item) => {
    const large = largeInputs(item.tasks);
    return large.length === 0 ? [] : [{ work: { kind: "call", item } as const, large }];
  });
}

/** The inputs of calls that are kept beside the run, by their place. */
export function largeInputs(
  tasks: readonly { readonly input?: Uint8Array | undefined }[],
): (readonly [number, Uint8Array])[] {
  return tasks.flatMap(({ input }, index) => (isLarge(input) ? [[index, input] as const] : []));
}

/**
 * Stores large contents durably, and digests those whose identity needs it, all at once.
 *
 * @param partsOf what an item is turned into an order with; undefined for one that names no lease, which is refused later.
 */
export async function prepareItems(
  { edge, asker }: SchemaParts,
  items: readonly HeldUpItem[],
  partsOf: (work: WorkItem) => OrderParts | undefined,
): Promise<Preparations> {
  const prepared = await Promise.all(
    items.map(async (large): Promise<[object, Prepared]> => {
      if ("schemas" in large) {
        return [large.work.item, await prepareAsking({ edge, asker }, large)];
      }
      const parts = partsOf(large.work);
      if (parts === undefined) {
        return [large.work.item, {}];
      }
      const isCalling = "large" in large;
      return [
        large.work.item,
        await (isCalling ? prepareCalling(edge, large, parts) : prepareItem(edge, large, parts)),
      ];
    }),
  );
  return new Map(prepared);
}

/** The order is made once before anything is stored, so that nothing is for a bad one. */
async function prepareCalling(
  edge: Edge,
  { work, large }: CallingItem,
  parts: OrderParts,
): Promise<Prepared> {
  try {
    const { target } = orderOf(work, parts);
    return { inputs: await admitInputs(edge, target, large) };
  } catch (error) {
    return { rejection: rejectionOf(edge, error, "Work") ?? internalFault() };
  }
}

/** Stores large inputs of calls; the answer is what to record of them, by their place. */
export async function admitInputs(
  edge: Edge,
  target: Target,
  large: readonly (readonly [number, Uint8Array])[],
): Promise<ReadonlyMap<number, Uint8Array>> {
  const admitted = new Map<number, Uint8Array>();
  for (const [index, input] of large) {
    const reference = await admit(edge, target, input, `tasks[${index}].input`);
    if (reference !== undefined) {
      admitted.set(index, reference);
    }
  }
  return admitted;
}

async function prepareAsking(parts: SchemaParts, { schemas }: AskingItem): Promise<Prepared> {
  try {
    for (const [index, schema] of schemas) {
      await requireSchema(parts, schema, `waits[${index}].input.schema`);
    }
    return {};
  } catch (error) {
    return { rejection: rejectionOf(parts.edge, error, "Work") ?? internalFault() };
  }
}

/** The order is made once before anything is stored: so that nothing is for a bad one, and all lies with the run or operation it is for. */
async function prepareItem(edge: Edge, large: LargeItem, parts: OrderParts): Promise<Prepared> {
  const { work, payload, field } = large;
  try {
    const document = work.kind === "intent" ? jsonDocumentOf(payload, field) : undefined;
    const digest = document === undefined ? undefined : await edge.digester.digestJson(document);
    const { target } = orderOf(work, { ...parts, prepared: { digest } });
    const isFirst = work.kind === "intent" && target.kind === "ledger";
    const admitted = await (isFirst ? admitFirst : admit)(edge, target, payload, field);
    return { admitted, digest };
  } catch (error) {
    return { rejection: rejectionOf(edge, error, "Work") ?? internalFault() };
  }
}

import type { WorkRequestShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { Rejection } from "../../core/rejection.js";
import type { Target } from "../../kernel/outcome.js";
import { admit, isLarge } from "../admission.js";
import { jsonDocumentOf } from "../content.js";
import type { JsonDigest } from "../digest/json-digest.js";
import type { Edge } from "../edge.js";
import { rejectionOf } from "../fault.js";
import { internalFault } from "../refusals.js";

/** What had to be done about an item before its command could be decided. */
export interface Prepared {
  /** The content as it is to be recorded: a reference to what was stored. */
  readonly admitted?: Uint8Array | undefined;
  /** The `json` digest of a long document. */
  readonly digest?: JsonDigest | undefined;
  /** Why it could not be done. */
  readonly rejection?: Rejection | undefined;
}

/** What was prepared, by item. */
export type Preparations = ReadonlyMap<object, Prepared>;

interface LargeItem {
  readonly item: object;
  readonly handle: number;
  readonly runId: string;
  readonly field: string;
  readonly payload: Uint8Array;
  readonly isOperation: boolean;
}

/** The items of a message whose content is too large to be recorded inside an event. Usually there are none. */
export function largeItems(request: WorkRequestShape): readonly LargeItem[] {
  const found: LargeItem[] = [];
  const add = (
    item: { readonly handle: number; readonly runId?: string },
    field: string,
    payload: Uint8Array | undefined,
  ): void => {
    if (isLarge(payload)) {
      const { handle, runId = "" } = item;
      found.push({
        item,
        handle,
        runId,
        field,
        payload,
        isOperation: field === "operation.payload",
      });
    }
  };
  for (const item of request.steps) {
    add(item, "value", item.outcome.case === "value" ? item.outcome.value : undefined);
  }
  for (const item of request.observations) {
    const outcome = item.observation?.outcome;
    add(item, "observation.result", outcome?.case === "result" ? outcome.value : undefined);
  }
  for (const item of request.reconciliations) {
    const finding = item.reconciliation?.finding;
    add(item, "reconciliation.found", finding?.case === "found" ? finding.value : undefined);
  }
  for (const item of request.intents) {
    add(item, "operation.payload", item.operation?.payload);
  }
  for (const item of request.reports) {
    add(item, "output", item.outcome.case === "output" ? item.outcome.value : undefined);
  }
  return found;
}

/** Stores large contents durably, and digests those whose identity needs it, all at once. */
export async function prepareItems(
  edge: Edge,
  items: readonly LargeItem[],
  targetOf: (handle: number, runId: string) => Target | undefined,
): Promise<Preparations> {
  const prepared = await Promise.all(
    items.map(async (large): Promise<[object, Prepared]> => {
      const target = targetOf(large.handle, large.runId);
      return [large.item, target === undefined ? {} : await prepareItem(edge, large, target)];
    }),
  );
  return new Map(prepared);
}

async function prepareItem(edge: Edge, large: LargeItem, target: Target): Promise<Prepared> {
  const { payload, field, isOperation } = large;
  try {
    const document = isOperation ? jsonDocumentOf(payload, field) : undefined;
    const [admitted, digest] = await Promise.all([
      admit(edge, target, payload, field),
      document === undefined ? undefined : edge.digester.digestJson(document),
    ]);
    return { admitted, digest };
  } catch (error) {
    return { rejection: rejectionOf(edge, error, "Work") ?? internalFault() };
  }
}

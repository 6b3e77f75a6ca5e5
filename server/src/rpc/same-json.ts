import { decodePayload, type PayloadShape } from "@pawl/proto/v1/payload_wire.js";
import { equalBytes } from "../core/identity/content-digest.js";
import type { CompiledPlan } from "../core/plan/task-spec.js";
import type { Rejection } from "../core/rejection.js";
import type { Target } from "../kernel/outcome.js";
import { digestBytes, isJsonContentType } from "./digest/content-digest.js";
import { type ComparableContent, sameContent } from "./digest/same-content.js";
import type { Edge } from "./edge.js";

/**
 * True when a refusal of the same identity with another content might be no conflict at all: both contents are JSON, and only
 * their bytes are known to differ. Then `isSameJson` decides.
 */
export function mayBeSame(rejection: Rejection, received: Uint8Array | undefined): boolean {
  const { detail } = rejection;
  if (received === undefined || detail?.case !== "fingerprintConflict") {
    return false;
  }
  const { differs } = detail.value;
  return (differs === "input" || differs === "value") && isPlainJson(decodePayload(received));
}

/** What two contents are compared with. */
export interface Comparison {
  /** Where a recorded reference leads to. */
  readonly target: Target;
  readonly recorded: Uint8Array;
  readonly received: Uint8Array;
}

/** Whether a recorded and a received payload hold the same JSON document, however it is spaced and ordered. */
export async function isSameJson(edge: Edge, comparison: Comparison): Promise<boolean> {
  const recorded = decodePayload(comparison.recorded);
  const received = decodePayload(comparison.received);
  if (!isPlainJson(recorded) || !isPlainJson(received)) {
    return false;
  }
  const left = comparable(edge, comparison.target, recorded);
  const right = comparable(edge, comparison.target, received);
  const { same } = await sameContent(left, right, edge.digester);
  return same;
}

/** Names of the tasks of two plans whose inputs differ in their bytes, but are the same JSON document. */
export async function alikeTasks(
  edge: Edge,
  target: Target,
  plans: { readonly recorded: CompiledPlan; readonly received: CompiledPlan },
): Promise<ReadonlySet<string>> {
  const alike = new Set<string>();
  const { tasks, byName } = plans.recorded;
  for (const { name, input: received } of plans.received.tasks) {
    const recorded = tasks[byName.get(name) ?? -1]?.input;
    if (received === undefined || recorded === undefined || equalBytes(received, recorded)) {
      continue;
    }
    if (await isSameJson(edge, { target, recorded, received })) {
      alike.add(name);
    }
  }
  return alike;
}

function isPlainJson(payload: PayloadShape): boolean {
  return (
    payload.encoding === "" &&
    payload.digest === undefined &&
    isJsonContentType(payload.contentType)
  );
}

function comparable(edge: Edge, target: Target, payload: PayloadShape): ComparableContent {
  const { contentType, body } = payload;
  if (body.case === "blob") {
    const { sha256 } = body.value;
    return {
      contentType,
      digest: { kind: "bytes", digest: sha256 },
      readData: () => readWhole(edge, target, sha256),
    };
  }
  const data = body.value ?? new Uint8Array(0);
  return { contentType, digest: digestBytes(data), readData: () => data };
}

async function readWhole(edge: Edge, target: Target, sha256: Uint8Array): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of edge.kernel.readBlob(target, sha256)) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

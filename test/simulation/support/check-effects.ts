import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import type { Operation, Run } from "@pawl/server/core/state.js";
import { operationStatusName } from "@pawl/server/core/transitions.js";
import { payload } from "../../core/support/values.js";
import { findUnapprovedCalls } from "../../property/support/approved-calls.js";
import { findUnfoundedCalls } from "../../property/support/effects.js";
import { textOf } from "./contents.js";
import { statesOf } from "./incarnations.js";
import { needsApproval } from "./ledger-caller.js";
import type { ShadowLog, ShadowRun } from "./shadow-log.js";
import type { Effect, Sinks } from "./sinks.js";

/**
 * Compares the log with the books of the outside systems: no operation key twice, whatever incarnation asks, no effect twice, every recorded result is of an effect that happened, what was
 * refused did not happen, every effect has an operation, and no call without a reason.
 */
export function checkEffects(
  shadow: ShadowLog,
  sinks: Sinks,
  complain: (text: string) => void,
): void {
  const byKey = new Map<string, Effect[]>();
  for (const effect of sinks.effects) {
    byKey.set(effect.key, [...(byKey.get(effect.key) ?? []), effect]);
  }
  const keys = new Set<string>();
  for (const run of shadow.runs.values()) {
    for (const state of statesOf(run)) {
      for (const operation of state.operations) {
        const { key } = operation.declaration;
        const problem =
          findWrongKey(state, key, keys) ??
          findProblem(operation, byKey.get(key) ?? []) ??
          findUnapproved(state.kind, operation);
        if (problem !== undefined) {
          complain(`operation ${key} (sink ${operation.declaration.sinkKind}): ${problem}`);
        }
        byKey.delete(key);
      }
    }
    complainOfCalls(run, complain);
  }
  for (const key of byKey.keys()) {
    complain(`the effect of ${key} has no operation in the log`);
  }
}

/** The key of an operation says which incarnation of which run asked for it, unless its scope is the namespace; and none comes again. */
function findWrongKey(
  { kind, runId, incarnation }: Run,
  key: string,
  keys: Set<string>,
): string | undefined {
  if (keys.has(key)) {
    return "another operation has the same key";
  }
  keys.add(key);
  const expected = `/${runId}/${incarnation}/`;
  return kind === "run" && !key.includes(expected)
    ? `its key does not hold ${expected}`
    : undefined;
}

/** What every caller proposes first was not begun without its approval. */
function findUnapproved(kind: "run" | "ledger", operation: Operation): string | undefined {
  const { discriminator = "" } = operation.declaration;
  return kind === "ledger" && needsApproval(discriminator) && operation.proposal === undefined
    ? "it was begun, but nobody approved it"
    : undefined;
}

function findProblem(operation: Operation, effects: readonly Effect[]): string | undefined {
  const [effect] = effects;
  if (effects.length > 1) {
    const when = effects.map(({ atMs, intentId }) => `${intentId} at ${atMs}`);
    return `its effect happened ${effects.length} times: ${when.join(", ")}`;
  }
  switch (operation.status) {
    case OperationStatus.OBSERVED:
      return effect === undefined ||
        textOf(operation.result) !== textOf(payload({ receipt: effect.receipt }))
        ? `its result is ${textOf(operation.result)}, but the sink says ${effect?.receipt ?? "nothing"}`
        : undefined;
    case OperationStatus.REFUSED:
    case OperationStatus.ABANDONED:
      return effect === undefined
        ? undefined
        : `it is ${operationStatusName(operation.status)}, but happened`;
    default:
      return undefined;
  }
}

function complainOfCalls({ number, events }: ShadowRun, complain: (text: string) => void): void {
  const recorded = events.map(({ body, atMs, number: place }) => ({
    body,
    meta: { atMs, number: place },
  }));
  for (const complaint of [...findUnfoundedCalls(recorded), ...findUnapprovedCalls(recorded)]) {
    complain(`run ${number}, ${complaint}`);
  }
}

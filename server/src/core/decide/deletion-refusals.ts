import type { LegalHoldShape } from "@pawl/proto/log/v1/event_wire.js";
import type { DeletionRowShape } from "@pawl/proto/log/v1/row_wire.js";
import type { Rejection } from "../rejection.js";
import type { Run } from "../state.js";

/** What a deletion is told of by. */
export interface DeletedThing {
  readonly entity: "run" | "operation";
  /** Id of the run, or the operation key. */
  readonly id: string;
  /** In ms since the Unix epoch. */
  readonly deletedAtMs: number;
  /** In ms since the Unix epoch; 0: for ever. */
  readonly tombstoneUntilMs: number;
}

/** Refusal of whatever is asked of something that was deleted. */
export function deleted(thing: DeletedThing): Rejection {
  const { entity, id, deletedAtMs, tombstoneUntilMs } = thing;
  const again = tombstoneUntilMs === 0 ? "never again" : `not before ${timeOf(tombstoneUntilMs)}`;
  const other = entity === "run" ? "another id" : "another key";
  return {
    reason: entity === "run" ? "PAWL_RUN_DELETED" : "PAWL_OPERATION_DELETED",
    message:
      `Expected the ${entity} "${id}" to be there, but it was deleted at ${timeOf(deletedAtMs)}. ` +
      `Nothing of it is served, and it begins ${again}. Next: use ${other} for new work.`,
    detail: { case: "deleted", value: { ...thing } },
  };
}

/** Refusal of whatever is asked of what is deleted and still in memory. */
export function deletedRun(run: Run, deletion: DeletionRowShape): Rejection {
  const isRun = run.kind === "run";
  const key = (run.operations[0] ?? run.proposals[0])?.declaration.key ?? "";
  return deleted({
    entity: isRun ? "run" : "operation",
    id: isRun ? run.runId : key,
    deletedAtMs: deletion.atMs,
    tombstoneUntilMs: deletion.tombstoneUntilMs,
  });
}

/** Refusal to delete what is held. */
export function held(
  thing: { readonly entity: "run" | "namespace"; readonly id: string },
  hold: LegalHoldShape,
): Rejection {
  const { entity, id } = thing;
  const why = hold.reason === "" ? "" : ` ("${hold.reason}")`;
  return {
    reason: "PAWL_LEGAL_HOLD",
    message:
      `Expected the ${entity} "${id}" to be free of a legal hold, but ${hold.principal} holds it since ${timeOf(hold.atMs)}${why}. ` +
      "Nothing was deleted. Next: have whoever may do so end the hold (pawl hold end).",
    detail: { case: "held", value: { entity, id, ...hold } },
  };
}

/** What needs a run that was to be deleted. */
export type Need = "review" | "obligation" | "child" | "approvals" | "retention";

const needs: Readonly<Record<Need, (name: string) => { what: string; next: string }>> = {
  review: (name) => ({
    what: `its review ${name} is open`,
    next: "resolve it (pawl reviews show)",
  }),
  obligation: (name) => ({
    what: `it still owes run "${name}" something`,
    next: "wait until that run has answered (pawl why)",
  }),
  child: (name) => ({
    what: `its child run "${name}" has not told it of its end`,
    next: "wait for the child's end, or end it",
  }),
  approvals: (name) => ({
    what: `its approvals are kept for their audit until ${name}`,
    next: "wait until then, or change the retention of the namespace",
  }),
  retention: (name) => ({ what: `it is kept until ${name}`, next: "wait until then" }),
};

/** Refusal to delete what something needs. @param name of what needs it; unless it is a time, `untilMs` is 0. */
export function needed(
  id: string,
  by: Need,
  { name = "", untilMs = 0 }: { readonly name?: string; readonly untilMs?: number },
): Rejection {
  const { what, next } = needs[by](untilMs === 0 ? name : timeOf(untilMs));
  return {
    reason: "PAWL_RUN_NEEDED",
    message: `Expected nothing to need "${id}" any more, but ${what}. Nothing was deleted. Next: ${next}.`,
    detail: { case: "needed", value: { id, by, name, untilMs } },
  };
}

/** A time as people read it, without its ms. */
function timeOf(ms: number): string {
  return isoText(Math.floor(ms / 1000));
}

/** `core` has no clock and no `Date`: days since the epoch become a date by the usual arithmetic of 400-year eras. */
function isoText(seconds: number): string {
  const days = Math.floor(seconds / 86_400);
  const inDay = seconds - days * 86_400;
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const ofEra = shifted - era * 146_097;
  const years = ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524);
  const year = Math.floor((years - Math.floor(ofEra / 146_096)) / 365);
  const ofYear = ofEra - (365 * year + Math.floor(year / 4) - Math.floor(year / 100));
  const month = Math.floor((5 * ofYear + 2) / 153);
  const day = ofYear - Math.floor((153 * month + 2) / 5) + 1;
  const civil = month < 10 ? month + 3 : month - 9;
  const fullYear = year + era * 400 + (civil <= 2 ? 1 : 0);
  const hour = Math.floor(inDay / 3600);
  const minute = Math.floor((inDay % 3600) / 60);
  const date = `${two(fullYear, 4)}-${two(civil)}-${two(day)}`;
  return `${date} ${two(hour)}:${two(minute)}:${two(inDay % 60)} UTC`;
}

function two(value: number, digits = 2): string {
  return `${value}`.padStart(digits, "0");
}

import type { RunRows } from "../../core/rows/run-to-rows.js";

type Parts = Pick<RunRows, "tasks" | "operations" | "waits" | "proposals">;

/**
 * Rows that a history tells, as an earlier build would have written them: it did not record at which events tasks were called and ended, operations first intended, waits begun and proposals
 * made. Where a stored row has no such number, none is asked for.
 */
export function withoutUnrecorded<T extends Parts>(told: T, found: Parts): T {
  return {
    ...told,
    tasks: clear(told.tasks, found.tasks, ["closedEvent", "calledEvent"]),
    operations: clear(told.operations, found.operations, ["intendedEvent"]),
    waits: clear(told.waits, found.waits, ["openedEvent"]),
    proposals: clear(told.proposals, found.proposals, ["madeEvent"]),
  };
}

function clear<Row extends object>(
  told: readonly Row[],
  found: readonly Row[],
  fields: readonly (keyof Row)[],
): Row[] {
  return told.map((row, index) => {
    const other = found[index];
    const unrecorded = fields.filter((field) => other?.[field] === 0 && row[field] !== 0);
    return unrecorded.length === 0
      ? row
      : { ...row, ...Object.fromEntries(unrecorded.map((field) => [field, 0])) };
  });
}

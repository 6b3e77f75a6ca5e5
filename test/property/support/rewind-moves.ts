import type { RetryRun, RewindPoint, RewindRun } from "@pawl/server/core/command.js";
import { nameOfTask } from "@pawl/server/core/plan/tasks-of-run.js";
import type { Run } from "@pawl/server/core/state.js";
import { fingerprint } from "../../core/support/values.js";
import { versionOf } from "./aims.js";
import type { Move } from "./moves.js";
import { oneOf } from "./one-of.js";

/** The run goes back, or tries again. */
export function wentBackOf(run: Run, verb: "rewind" | "retry", move: Move): RewindRun | RetryRun {
  return verb === "rewind" ? rewindOf(run, move) : retryOf(run, move);
}

/** A rewind, mostly to a point that there is. */
function rewindOf(run: Run, move: Move): RewindRun {
  return {
    kind: "RewindRun",
    ...backOf(run, move),
    to: pointOf(run, move),
    dropsMessages: move.pick === 1,
  };
}

/** A retry, of all that failed or of one task. */
function retryOf(run: Run, move: Move): RetryRun {
  const named = nameOfTask(run, move.which % Math.max(1, run.plan.tasks.length));
  return {
    kind: "RetryRun",
    ...backOf(run, move),
    tasks: move.aims ? [] : [named],
    cancelled: move.pick % 2 === 0,
  };
}

/** Requests have few names, so that some come again. */
function backOf(
  run: Run,
  move: Move,
): Pick<RewindRun, "expectedVersion" | "requestId" | "digest" | "reason" | "dryRun"> {
  return {
    expectedVersion: move.aims ? undefined : versionOf(run, move),
    requestId: `back ${move.aims ? run.eventCount : move.which % 3}`,
    digest: fingerprint(move.content),
    reason: "again",
    dryRun: move.content === 2 && move.pick === 2,
  };
}

function pointOf(run: Run, { which, aims, pick }: Move): RewindPoint {
  if (pick % 2 === 0) {
    const event = run.begunAtEvent + ((which * 7 + pick) % Math.max(1, run.eventCount));
    return { case: "event", event: aims ? Math.min(event, run.eventCount) : event };
  }
  const task = nameOfTask(run, aims ? which % Math.max(1, run.tasks.length) : which) || "nobody";
  const step = run.steps.length === 0 ? undefined : oneOf(run.steps, which);
  const record = pick === 3 && step !== undefined ? { name: step.name, key: step.key } : undefined;
  return { case: "task", task, record };
}

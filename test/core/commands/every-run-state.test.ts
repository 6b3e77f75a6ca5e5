import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { Command } from "@pawl/server/core/command.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { runStatusName, runTransitions } from "@pawl/server/core/transitions.js";
import { describe, expect, it } from "vitest";
import { cancelRun, pauseRun, resumeRun, startRun, terminateRun } from "../support/commands.js";
import {
  attemptFailed,
  cancelRequested,
  completed,
  leased,
  runClosed,
  runPaused,
} from "../support/events.js";
import { rowOf } from "../support/outcome-row.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { fingerprint } from "../support/values.js";

const ILLEGAL = "PAWL_ILLEGAL_TRANSITION";
const CONFLICT = "PAWL_FINGERPRINT_CONFLICT";
const OVER = "PAWL_RUN_OVER";

const runs: Readonly<Record<string, readonly EventBody[]>> = {
  RUNNING: [],
  "RUNNING, asked to stop": [leased(0, 1), cancelRequested()],
  PAUSED: [runPaused()],
  COMPLETED: [leased(0, 1), completed(0, 1), runClosed(RunStatus.COMPLETED)],
  FAILED: [leased(0, 1), attemptFailed(0, 1), runClosed(RunStatus.FAILED)],
  CANCELLED: [cancelRequested(), runClosed(RunStatus.CANCELLED)],
  TERMINATED: [runClosed(RunStatus.TERMINATED)],
};

const onePlan = planOf({ only: {} });
const ofRun: Readonly<Record<string, Command>> = {
  "the same start": startRun(onePlan),
  "another start": startRun(onePlan, { fingerprint: fingerprint(9) }),
  PauseRun: pauseRun(),
  ResumeRun: resumeRun(),
  CancelRun: cancelRun(),
  TerminateRun: terminateRun(),
};

const runOutcomes: Readonly<Record<string, readonly string[]>> = {
  RUNNING: ["existing", CONFLICT, "runPaused", "existing", "cancelRequested", "runClosed"],
  "RUNNING, asked to stop": [
    "existing",
    CONFLICT,
    ILLEGAL,
    "existing",
    "existing",
    "leaseEnded runClosed",
  ],
  PAUSED: ["existing", CONFLICT, "existing", "runResumed", "cancelRequested", "runClosed"],
  COMPLETED: ["existing", CONFLICT, OVER, OVER, OVER, OVER],
  FAILED: ["existing", CONFLICT, OVER, OVER, OVER, OVER],
  CANCELLED: ["existing", CONFLICT, OVER, OVER, "existing", OVER],
  TERMINATED: ["existing", CONFLICT, OVER, OVER, OVER, "existing"],
};

describe("every command on a run in every state", () => {
  it("has every state of the table", () => {
    const states = Object.keys(runs).map((name) => name.split(",")[0]);
    expect([...new Set(states)]).toEqual([...runTransitions.keys()].map(runStatusName));
  });

  it.each(Object.keys(runs))("%s", (status) => {
    const scenario = Scenario.ofOne().given(...(runs[status] ?? []));
    const outcomes = Object.values(ofRun).map((command) => scenario.when(command).summary());
    const names = Object.keys(ofRun);
    expect(rowOf(names, outcomes)).toEqual(rowOf(names, runOutcomes[status] ?? []));
  });
});

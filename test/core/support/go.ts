import { compileRecordedPlan } from "@pawl/server/core/apply.js";
import type { Command, StartRun } from "@pawl/server/core/command.js";
import type { Reply } from "@pawl/server/core/decision.js";
import type { Rejection } from "@pawl/server/core/rejection.js";
import { restoreRun } from "@pawl/server/core/rows/rows-to-run.js";
import { inlineRun, splitRows } from "@pawl/server/core/rows/run-to-rows.js";
import { expect } from "vitest";
import type { ContextParts, Scenario } from "./scenario.js";

/** What a command came to: its reply, or why it was refused. */
export type Came = { readonly reply: Reply } | { readonly rejection: Rejection };

/** Does a command with all that follows; every state on the way is sound, and its rows give it back. */
export function go(
  scenario: Scenario,
  command: Exclude<Command, StartRun>,
  parts: ContextParts = {},
): Came {
  const { decision } = scenario.when(command, parts);
  const events = decision.accepted ? decision.events : (decision.evidence ?? []);
  if (events.length > 0) {
    scenario.commit(events);
    expectRows(scenario);
  }
  return decision.accepted ? { reply: decision.reply } : { rejection: decision.rejection };
}

/** Does a command that must be accepted. */
export function must(
  scenario: Scenario,
  command: Exclude<Command, StartRun>,
  parts: ContextParts = {},
): Reply {
  const came = go(scenario, command, parts);
  if ("rejection" in came) {
    throw new Error(came.rejection.message);
  }
  return came.reply;
}

/** Why a command is refused, which must be; evidence of it is kept. */
export function refusal(scenario: Scenario, command: Exclude<Command, StartRun>): Rejection {
  const came = go(scenario, command);
  if ("reply" in came) {
    throw new Error("it was accepted");
  }
  return came.rejection;
}

const chunk = { count: 1, hash: new Uint8Array(32) };

function expectRows({ state }: Scenario): void {
  expect(restoreRun(splitRows(state, chunk), compileRecordedPlan)).toEqual(state);
  const none = { tasks: [], operations: [], steps: [], reviews: [], waits: [], proposals: [] };
  const empty = { ...none, signals: [], inputs: [], obligations: [], planVersions: [] };
  expect(restoreRun({ run: inlineRun(state, chunk), ...empty }, compileRecordedPlan)).toEqual(
    state,
  );
}

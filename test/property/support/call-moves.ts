import type { CallTasks } from "@pawl/server/core/command.js";
import type { Run } from "@pawl/server/core/state.js";
import { planTask } from "../../core/support/plans.js";
import { payload } from "../../core/support/values.js";
import { leaseOf } from "./aims.js";
import type { Move } from "./moves.js";

/** Calls under few names, so that many are named again, by other tasks too; and earlier calls that nobody wants any more. */
export function callsOf(run: Run, move: Move): CallTasks {
  const { pick, which, content } = move;
  const turn = pick % 3 === 0 ? "" : `${Math.floor(run.eventCount / 8)}`;
  const names = [`call${which % 3}${turn}`, `call${(which % 3) + 1}${turn}`].slice(pick % 2);
  const retry = { attemptsMax: 1 + (pick % 3) };
  const earlier = [...run.calledByName.keys()];
  const some = (of: number, rest: number): string[] =>
    earlier.filter((_, number) => (number + pick) % of === rest);
  return {
    kind: "CallTasks",
    ...leaseOf(run, move),
    called: which % 5 === 4 ? [] : names.map((name) => shapeOf(name, { retry, content })),
    cancels: which % 2 === 0 ? [] : some(4, 0),
    stops: some(5, 1).map((name) => ({ name, reason: `reason ${which % 2}` })),
    abandons: which % 3 === 0 ? some(6, 2) : [],
  };
}

function shapeOf(
  name: string,
  {
    retry,
    content,
  }: { readonly retry: { readonly attemptsMax: number }; readonly content: number },
): CallTasks["called"][number] {
  return { ...planTask(name, { retry }), input: content === 0 ? undefined : payload(content) };
}

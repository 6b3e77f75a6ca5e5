import { PauseRunResponseSchema, ResumeRunResponseSchema } from "@pawl/proto/v1/run_service_pb.js";
import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { count } from "../format/text.js";
import { addRunOrder } from "./run-order.js";

/** `pawl run pause RUN`. */
export function addRunPause(group: Command, context: CliContext): void {
  addRunOrder(group, context, {
    name: "pause",
    description: "pause a run: nothing of it is offered until it is resumed; what runs may report",
    schema: PauseRunResponseSchema,
    send: (kernel, request, options) => kernel.runs.pauseRun(request, options),
    say: ({ existing, runningTasks }, run) => {
      const still = stillRunning(runningTasks);
      return existing
        ? `${run} was paused before; nothing was changed, and ${still}.`
        : `${run} is PAUSED: nothing of it is offered until it is resumed, and ${still}.`;
    },
    next: ({ version }, runId, followUps) => [
      followUps.command("run resume", [runId], ["--expected-version", `${version}`]),
      followUps.command("why", [runId]),
    ],
  });
}

function stillRunning(tasks: number): string {
  const [run, begin] = tasks === 1 ? ["runs", "begins"] : ["run", "begin"];
  return tasks === 0
    ? "no task of it runs"
    : `${count(tasks, "task")} of it still ${run} and may report, but ${begin} no effect`;
}

/** `pawl run resume RUN`. */
export function addRunResume(group: Command, context: CliContext): void {
  addRunOrder(group, context, {
    name: "resume",
    description: "let a paused run go on; what came due meanwhile happens now",
    schema: ResumeRunResponseSchema,
    send: (kernel, request, options) => kernel.runs.resumeRun(request, options),
    say: ({ existing }, run) =>
      existing
        ? `${run} was not paused; nothing was changed.`
        : `${run} goes on: what is READY is offered, and what came due meanwhile happens now.`,
    next: (_answer, runId, followUps) => [followUps.command("run watch", [runId])],
  });
}

import { type Task, TaskSchema, TaskStatus, TaskStatusSchema } from "@pawl/proto/v1/run_pb.js";
import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { enumWord } from "../format/enum-word.js";
import { payloadField } from "../format/payload.js";
import { describeRetry, describeTimeouts } from "../format/policy.js";
import { lookOf } from "../format/style.js";
import { isEnded, taskReasons } from "../format/task.js";
import { clean } from "../format/text.js";
import { addKernelOptions, type KernelOptions } from "../options.js";
import { readTask, type TaskPlace, taskHints } from "../read-task.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

/** `pawl task show RUN TASK`. */
export function addTaskShow(group: Command, context: CliContext): void {
  const command = group
    .command("show")
    .description("show one task with its version, policy and output, and what may be done about it")
    .argument("<run>", "id of the run")
    .argument("<task>", "name of the task");
  addKernelOptions(command).action((runId: string, task: string, options: KernelOptions) =>
    withKernel(
      context,
      options,
      (session) => showTask(session, { runId, task }),
      taskHints({ runId, task }),
    ),
  );
}

async function showTask(session: KernelSession, place: TaskPlace): Promise<void> {
  const { out, followUps } = session;
  const task = await readTask(session, place);
  if (out.isJson) {
    out.message(TaskSchema, task);
    return;
  }
  const status = enumWord(TaskStatusSchema, task.status);
  const name = `Task ${out.style("bold", clean(task.name))} of run ${out.style("bold", clean(place.runId))}`;
  out.lines(`${name} is ${out.style(lookOf(status), status)}.`);
  out.fields([
    ...taskReasons(task, out.clock),
    ["kind", task.kind],
    ["queue", task.queue === task.kind ? "" : task.queue],
    ["needs", task.needs.join(", ")],
    ["output", payloadField(task.output)],
    ["retry", task.retry === undefined ? undefined : describeRetry(task.retry)],
    ["timeouts", task.timeouts === undefined ? undefined : describeTimeouts(task.timeouts)],
    ["version", `${task.version}`],
  ]);
  const restated = ["--expected-version", `${task.version}`, "--reason", "TEXT"];
  out.next(
    changesOf(task)
      .map((change) => followUps.command(`task ${change}`, [place.runId, place.task], restated))
      .concat(followUps.command("op list", [place.runId]), followUps.command("why", [place.runId])),
  );
}

/** What an operator may do about a task as it is; the policy needs more words, and stands in its help. */
function changesOf(task: Task): readonly string[] {
  if (isEnded(task) || task.status === TaskStatus.BLOCKED) return [];
  if (task.status === TaskStatus.NEEDS_REVIEW) return [];
  const always = ["complete", "fail", "reset"];
  return task.status === TaskStatus.BACKOFF ? ["now", ...always] : always;
}

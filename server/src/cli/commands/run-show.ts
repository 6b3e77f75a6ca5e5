import { type Run, RunSchema, type Task, TaskSchema, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { isOpen, runFields, runHeadline } from "../format/run.js";
import { TASK_HEADINGS, taskRow } from "../format/task.js";
import { count } from "../format/text.js";
import { messageJson } from "../json.js";
import { addKernelOptions, type KernelOptions, wholeNumber } from "../options.js";
import { type ReadList, readList } from "../paging.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

/** Most tasks of a run, a bound of the kernel. */
export const TASKS_MAX = 5_000;

interface ShowOptions extends KernelOptions {
  readonly limit: number;
}

/** `pawl run show RUN`. */
export function addRunShow(group: Command, context: CliContext): void {
  const command = group
    .command("show")
    .description("show a run and its tasks")
    .argument("<run>", "id of the run")
    .option("--limit <count>", "most tasks to show", wholeNumber(1, TASKS_MAX), TASKS_MAX);
  addKernelOptions(command).action((runId: string, options: ShowOptions) =>
    withKernel(context, options, async (session) => {
      const run = await readRun(session, runId);
      const { items, hasMore } = await readTasks(session, runId, options.limit);
      printRun(session, { run, tasks: items, hasMore });
    }),
  );
}

/** Reads one run. */
export async function readRun(session: KernelSession, runId: string): Promise<Run> {
  const { kernel, namespace } = session;
  const { run } = await kernel.runs.getRun({ namespace, runId }, { timeoutMs: CALL_TIMEOUT_MS });
  if (run === undefined) throw new Error(`Expected run "${runId}" in the answer, but it is absent`);
  return run;
}

/** Reads the tasks of a run, in plan order. */
export function readTasks(
  { kernel, namespace }: KernelSession,
  runId: string,
  limit: number,
): Promise<ReadList<Task>> {
  return readList(limit, async (page) => {
    const request = { namespace, runId, ...page };
    const answer = await kernel.runs.listTasks(request, { timeoutMs: CALL_TIMEOUT_MS });
    return { items: answer.tasks, nextPageToken: answer.nextPageToken };
  });
}

interface Shown {
  readonly run: Run;
  readonly tasks: readonly Task[];
  readonly hasMore: boolean;
}

function printRun({ out, followUps }: KernelSession, { run, tasks, hasMore }: Shown): void {
  if (out.isJson) {
    out.json({
      run: messageJson(RunSchema, run),
      tasks: tasks.map((task) => messageJson(TaskSchema, task)),
    });
    return;
  }
  out.lines(runHeadline(run, out.style));
  out.fields(runFields(run, out.clock));
  out.table(
    TASK_HEADINGS,
    tasks.map((task) => taskRow(task)),
  );
  if (hasMore) out.lines(`The first ${count(tasks.length, "task")} of more; --limit shows more.`);
  const isReviewed = tasks.some(({ status }) => status === TaskStatus.NEEDS_REVIEW);
  const id = run.runId;
  out.next([
    ...(isReviewed ? [followUps.command("reviews list", [], ["--run", id])] : []),
    ...(isOpen(run.status)
      ? [followUps.command("why", [id]), followUps.command("run watch", [id])]
      : [followUps.command("report", [id]), followUps.command("run history", [id])]),
  ]);
}

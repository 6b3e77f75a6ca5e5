import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { type Review, ReviewSchema } from "@pawl/proto/v1/review_pb.js";
import {
  type Run,
  RunStatus,
  RunStatusSchema,
  type Task,
  TaskSchema,
  TaskStatus,
  TaskStatusSchema,
} from "@pawl/proto/v1/run_pb.js";
import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { enumWord } from "../format/enum-word.js";
import { describeFailure } from "../format/failure.js";
import { isOpen, runHeadline } from "../format/run.js";
import { lookOf } from "../format/style.js";
import { isEnded, taskReasons } from "../format/task.js";
import { clean, count, sentence } from "../format/text.js";
import { messageJson } from "../json.js";
import { addKernelOptions, type KernelOptions } from "../options.js";
import { readProposals } from "../read-proposal.js";
import { type KernelSession, withKernel } from "../with-kernel.js";
import { readInputs } from "./inputs-list.js";
import { readReviews } from "./reviews-list.js";
import { readRun, readTasks, TASKS_MAX } from "./run-show.js";

/** Tasks that are told of; of the others their number. */
const TOLD_MAX = 10;

/** The tasks that explain most come first. */
const URGENCY: readonly TaskStatus[] = [
  TaskStatus.NEEDS_REVIEW,
  TaskStatus.BACKOFF,
  TaskStatus.READY,
  TaskStatus.SUSPENDED,
  TaskStatus.LEASED,
];

/** `pawl why RUN`. */
export function addWhy(program: Command, context: CliContext): void {
  const command = program
    .command("why")
    .description("say why a run is not finished, or how it ended, and what may be done next")
    .argument("<run>", "id of the run");
  addKernelOptions(command).action((runId: string, options: KernelOptions) =>
    withKernel(context, options, async (session) => {
      const run = await readRun(session, runId);
      const { items } = await readTasks(session, runId, TASKS_MAX);
      const reviews = await readReviews(session, {
        runId,
        includeResolved: false,
        limit: TASKS_MAX,
      });
      const tasks = telling(items, run);
      const answers = session.out.isJson ? [] : await readAnswers(session, runId, tasks);
      printWhy(session, { run, tasks, reviews: reviews.items, answers });
    }),
  );
}

interface Why {
  readonly run: Run;
  /** Tasks that keep the run open, or made it fail; the most telling first. */
  readonly tasks: readonly Task[];
  readonly reviews: readonly Review[];
  /** Commands that show what people are asked: proposals and questions. */
  readonly answers: readonly string[];
}

/** What a task that is SUSPENDED may ask people: its proposals, and its questions. */
async function readAnswers(
  session: KernelSession,
  runId: string,
  tasks: readonly Task[],
): Promise<string[]> {
  if (!tasks.some(({ status }) => status === TaskStatus.SUSPENDED)) return [];
  const { followUps } = session;
  const filter = { runId, status: ProposalStatus.PENDING, addressee: "", limit: TOLD_MAX };
  const proposals = await readProposals(session, filter);
  const inputs = await readInputs(session, { run: runId, limit: 1 });
  return [
    ...proposals.items.map(({ proposalId }) => followUps.command("approvals show", [proposalId])),
    ...(inputs.items.length > 0 ? [followUps.command("inputs list", [], ["--run", runId])] : []),
  ];
}

function telling(tasks: readonly Task[], run: Run): Task[] {
  if (!isOpen(run.status)) return tasks.filter(({ status }) => status === TaskStatus.FAILED);
  const active = tasks.filter((task) => !isEnded(task) && task.status !== TaskStatus.BLOCKED);
  const rank = ({ status }: Task): number => URGENCY.indexOf(status);
  return active.sort((a, b) => rank(a) - rank(b));
}

function printWhy({ out, followUps }: KernelSession, { run, tasks, reviews, answers }: Why): void {
  if (out.isJson) {
    out.json({
      runId: run.runId,
      status: RunStatusSchema.value[run.status]?.name ?? run.status,
      why: run.why,
      tasks: tasks.map((task) => messageJson(TaskSchema, task)),
      reviews: reviews.map((review) => messageJson(ReviewSchema, review)),
    });
    return;
  }
  out.lines(runHeadline(run, out.style), clean(sentence(run.why)));
  if (run.failure !== undefined) out.fields([["failure", describeFailure(run.failure)]]);
  for (const task of tasks.slice(0, TOLD_MAX)) {
    const status = enumWord(TaskStatusSchema, task.status);
    out.lines(
      "",
      `Task ${out.style("bold", clean(task.name))} of kind "${clean(task.kind)}" is ${out.style(lookOf(status), status)}.`,
    );
    out.fields(taskReasons(task, out.clock));
  }
  if (tasks.length > TOLD_MAX) {
    out.lines("", `And ${count(tasks.length - TOLD_MAX, "more task")}.`);
  }
  const id = run.runId;
  out.next([
    ...answers,
    ...(reviews.length > 0 ? [followUps.command("reviews list", [], ["--run", id])] : []),
    ...(run.status === RunStatus.PAUSED ? [followUps.command("run resume", [id])] : []),
    followUps.command(isOpen(run.status) ? "run watch" : "report", [id]),
    followUps.command("run show", [id]),
  ]);
}

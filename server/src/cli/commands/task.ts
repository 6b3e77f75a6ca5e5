import { TaskStatusSchema } from "@pawl/proto/v1/run_pb.js";
import { type ChangeTaskRequest, ChangeTaskResponseSchema } from "@pawl/proto/v1/run_service_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { enumWord } from "../format/enum-word.js";
import { clean } from "../format/text.js";
import { messageFields } from "../json.js";
import { addKernelOptions, type KernelOptions, UINT32_MAX, wholeNumber } from "../options.js";
import { readTask, taskHints } from "../read-task.js";
import { type KernelSession, withKernel } from "../with-kernel.js";
import { readContent } from "./run-start.js";
import { addTaskPolicy } from "./task-policy.js";
import { addTaskShow } from "./task-show.js";

interface ChangeOptions extends KernelOptions {
  readonly reason: string;
  readonly expectedVersion?: number;
  readonly output?: string;
}

type Change = Exclude<ChangeTaskRequest["change"], { case: undefined | "policy" }>["case"];

interface ChangeWords {
  readonly change: Change;
  readonly description: string;
  /** What is said when it was done. */
  readonly done: string;
}

/** `pawl task …`. */
export function addTaskCommands(program: Command, context: CliContext): void {
  const group = program.command("task").description("step in by hand: one task of a run");
  addTaskShow(group, context);
  addChange(group, context, "now", {
    change: "runNow",
    description: "skip a backoff: the next attempt is due now",
    done: "Its backoff is over, and its next attempt is due now",
  });
  addChange(group, context, "complete", {
    change: "complete",
    description: "complete a task by hand, with an output or without one; what needs it goes on",
    done: "It was completed by hand, and what needs it goes on",
  });
  addChange(group, context, "fail", {
    change: "fail",
    description: "fail a task for good by hand, for the reason given",
    done: "It was failed by hand",
  });
  addChange(group, context, "reset", {
    change: "resetAttempts",
    description: "give a task all its attempts anew",
    done: "It has all its attempts anew",
  });
  addTaskPolicy(group, context);
}

function addChange(group: Command, context: CliContext, name: string, words: ChangeWords): void {
  const command = group
    .command(name)
    .description(words.description)
    .argument("<run>", "id of the run")
    .argument("<task>", "name of the task");
  if (words.change === "complete") {
    command.option("--output <json>", "its output, JSON or @FILE; without it, it has none");
  }
  command
    .requiredOption("--reason <text>", "why, for the record")
    .option(
      "--expected-version <number>",
      "version you decided on, from task show (default: the present one)",
      wholeNumber(0, UINT32_MAX),
    );
  addKernelOptions(command).action(async (runId: string, task: string, options: ChangeOptions) => {
    const output = await readContent(context, "--output", options.output);
    await withKernel(
      context,
      options,
      (session) => changeTask(session, { runId, task, options, words, output }),
      taskHints({ runId, task }),
    );
  });
}

interface ChangeParts {
  readonly runId: string;
  readonly task: string;
  readonly options: ChangeOptions;
  readonly words: ChangeWords;
  readonly output: Awaited<ReturnType<typeof readContent>>;
}

async function changeTask(session: KernelSession, parts: ChangeParts): Promise<void> {
  const { kernel, namespace, out, followUps } = session;
  const { runId, task, options, words, output } = parts;
  const expectedVersion =
    options.expectedVersion ?? (await readTask(session, { runId, task })).version;
  const answer = await kernel.runs.changeTask(
    {
      ...{ namespace, runId, task, expectedVersion, reason: options.reason },
      change:
        words.change === "complete"
          ? { case: "complete", value: output === undefined ? {} : { output } }
          : { case: words.change, value: {} },
    },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  if (out.isJson) {
    out.json({ runId, task, ...messageFields(ChangeTaskResponseSchema, answer) });
    return;
  }
  const status = enumWord(TaskStatusSchema, answer.status);
  const name = `Task ${out.style("bold", clean(task))} of run ${out.style("bold", clean(runId))}`;
  out.lines(
    answer.existing
      ? `${name} had been changed so before; nothing was changed, and it is ${status}.`
      : `${name} is ${status}. ${words.done}.`,
  );
  out.next([followUps.command("why", [runId]), followUps.command("run history", [runId])]);
}

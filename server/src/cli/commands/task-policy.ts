import { ChangeTaskResponseSchema } from "@pawl/proto/v1/run_service_pb.js";
import type { Command } from "commander";
import { usageError } from "../cli-error.js";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { describeRetry, describeTimeouts } from "../format/policy.js";
import { clean } from "../format/text.js";
import { messageFields } from "../json.js";
import { addKernelOptions, type KernelOptions, UINT32_MAX, wholeNumber } from "../options.js";
import {
  addPolicyOptions,
  changedPolicy,
  isPolicyChange,
  type PolicyChange,
} from "../policy-change.js";
import { readTask, type TaskPlace, taskHints } from "../read-task.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

interface PolicyOptions extends KernelOptions, PolicyChange {
  readonly reason: string;
  readonly expectedVersion?: number;
}

/** `pawl task policy RUN TASK`. */
export function addTaskPolicy(group: Command, context: CliContext): void {
  const command = group
    .command("policy")
    .description("change when a task is tried again and its timeouts; what is not named stays")
    .argument("<run>", "id of the run")
    .argument("<task>", "name of the task");
  addPolicyOptions(command);
  command
    .requiredOption("--reason <text>", "why, for the record")
    .option(
      "--expected-version <number>",
      "version you decided on, from task show (default: the present one)",
      wholeNumber(0, UINT32_MAX),
    );
  addKernelOptions(command).action((runId: string, task: string, options: PolicyOptions) => {
    if (!isPolicyChange(options)) {
      throw usageError(
        "Expected at least one option that changes the policy, such as --attempts-max, but none is given.",
        ["npx --no pawl task policy --help"],
      );
    }
    const place = { runId, task };
    return withKernel(
      context,
      options,
      (session) => changePolicy(session, place, options),
      taskHints(place),
    );
  });
}

async function changePolicy(
  session: KernelSession,
  place: TaskPlace,
  options: PolicyOptions,
): Promise<void> {
  const { kernel, namespace, out, followUps } = session;
  const before = await readTask(session, place);
  const answer = await kernel.runs.changeTask(
    {
      ...{ namespace, ...place, reason: options.reason },
      expectedVersion: options.expectedVersion ?? before.version,
      change: { case: "policy", value: changedPolicy(before, options) },
    },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  if (out.isJson) {
    out.json({ ...place, ...messageFields(ChangeTaskResponseSchema, answer) });
    return;
  }
  const name = `Task ${out.style("bold", clean(place.task))} of run ${out.style("bold", clean(place.runId))}`;
  out.lines(
    answer.existing
      ? `${name} had been given this policy before; nothing was changed.`
      : `${name} has another policy from now on; a backoff that has begun stays as it is.`,
  );
  const { retry, timeouts } = await readTask(session, place);
  out.fields([
    ["retry", retry === undefined ? undefined : describeRetry(retry)],
    ["timeouts", timeouts === undefined ? undefined : describeTimeouts(timeouts)],
  ]);
  out.next([followUps.command("task show", [place.runId, place.task])]);
}

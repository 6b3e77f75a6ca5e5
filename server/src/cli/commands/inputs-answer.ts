import { ConnectError } from "@connectrpc/connect";
import { RejectionSchema } from "@pawl/proto/v1/rejection_pb.js";
import { ProvideInputResponseSchema } from "@pawl/proto/v1/run_service_pb.js";
import type { Command } from "commander";
import { CliError, usageError } from "../cli-error.js";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { exitCodes } from "../exit-codes.js";
import { describePayload } from "../format/payload.js";
import { principalName } from "../format/principal.js";
import { clean, sentence } from "../format/text.js";
import { messageFields } from "../json.js";
import { addKernelOptions, type KernelOptions, UINT32_MAX, wholeNumber } from "../options.js";
import { type KernelSession, withKernel } from "../with-kernel.js";
import { readContent } from "./run-start.js";

interface AnswerOptions extends KernelOptions {
  readonly value?: string;
  readonly decline?: string;
  readonly expectedVersion?: number;
}

/** `pawl inputs answer INPUT`. */
export function addInputsAnswer(group: Command, context: CliContext): void {
  const command = group
    .command("answer")
    .description(
      "answer a task's question, or decline to; the same answer again is answered as existing",
    )
    .argument("<input>", "id of the input request")
    .option("--value <json>", "the answer: JSON, or @FILE with JSON in it")
    .option("--decline <reason>", "decline to answer; the task goes on and sees the reason")
    .option(
      "--expected-version <number>",
      "version you looked at, from inputs list (default: the present one)",
      wholeNumber(1, UINT32_MAX),
    );
  addKernelOptions(command).action(async (inputId: string, options: AnswerOptions) => {
    if ((options.value === undefined) === (options.decline === undefined)) {
      throw usageError("Expected exactly one of --value and --decline, but got none or both.");
    }
    const given = await readContent(context, "--value", options.value);
    await withKernel(context, options, (session) => answerInput(session, inputId, options, given));
  });
}

async function answerInput(
  session: KernelSession,
  inputId: string,
  { decline = "", expectedVersion }: AnswerOptions,
  given: Awaited<ReturnType<typeof readContent>>,
): Promise<void> {
  const { kernel, namespace, out, followUps } = session;
  const request = {
    namespace,
    inputId,
    expectedVersion: expectedVersion ?? (await presentVersion(session, inputId)),
    answer:
      given === undefined
        ? ({ case: "declined", value: decline } as const)
        : ({ case: "given", value: given } as const),
  };
  const answered = await kernel.runs
    .provideInput(request, { timeoutMs: CALL_TIMEOUT_MS })
    .catch((error: unknown) => tellAnswered(session, inputId, error));
  if (out.isJson) {
    out.json({ inputId, ...messageFields(ProvideInputResponseSchema, answered) });
    return;
  }
  const name = `Input request ${out.style("bold", clean(inputId))}`;
  const word = given === undefined ? "declined" : "answered";
  out.lines(
    answered.existing
      ? `${name} had been ${word} so before; nothing was changed.`
      : `${name} is ${word}; its task goes on with that as soon as a worker takes it.`,
  );
  out.next([followUps.command("inputs list")]);
}

/** Of a second answer that is another one: says which was given, and by whom. */
async function tellAnswered(
  session: KernelSession,
  inputId: string,
  error: unknown,
): Promise<never> {
  const { kernel, namespace, followUps } = session;
  const rejection =
    error instanceof ConnectError ? error.findDetails(RejectionSchema)[0] : undefined;
  if (rejection?.reason !== "PAWL_FINGERPRINT_CONFLICT") throw error;
  const { input } = await kernel.runs.getInput(
    { namespace, inputId },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  if (input === undefined) throw error;
  const { answer, declined, answeredBy, runId } = input;
  const what =
    answer === undefined
      ? `declined: ${sentence(declined ?? "")}`
      : `answered with ${describePayload(answer)}.`;
  throw new CliError(
    `Expected the answer that question ${inputId} was given, but this is another one. ${principalName(answeredBy)} ${what} That stays: a question is answered once.`,
    {
      exitCode: exitCodes.refused,
      reason: rejection.reason,
      next: [
        "Nothing is left to answer; the task goes on with what was recorded.",
        followUps.command("why", [runId]),
      ],
      rejection,
      cause: error,
    },
  );
}

/** One that was answered meanwhile has another version; the kernel then says whether the answer was the same. */
async function presentVersion(
  { kernel, namespace }: KernelSession,
  inputId: string,
): Promise<number> {
  const { input } = await kernel.runs.getInput(
    { namespace, inputId },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  return input?.version ?? 1;
}

import { ProvideInputResponseSchema } from "@pawl/proto/v1/run_service_pb.js";
import type { Command } from "commander";
import { usageError } from "../cli-error.js";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { clean } from "../format/text.js";
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
  const answered = await kernel.runs.provideInput(
    {
      namespace,
      inputId,
      expectedVersion: expectedVersion ?? (await presentVersion(session, inputId)),
      answer:
        given === undefined
          ? { case: "declined", value: decline }
          : { case: "given", value: given },
    },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
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

import { type InputRequest, InputRequestSchema } from "@pawl/proto/v1/input_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { inputFields, inputHeadline } from "../format/input.js";
import { count } from "../format/text.js";
import { addKernelOptions, type KernelOptions, wholeNumber } from "../options.js";
import { LIMIT_MAX, printList, type ReadList, ROWS_DEFAULT, readList } from "../paging.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

interface InputFilter {
  readonly run?: string;
  readonly addressee?: string;
  /** Only those without an addressee. */
  readonly forAnybody?: boolean;
  readonly limit: number;
}

type ListOptions = KernelOptions & InputFilter;

/** `pawl inputs list`. */
export function addInputsList(group: Command, context: CliContext): void {
  const command = group
    .command("list")
    .description("list the open questions of tasks, oldest first")
    .option("--run <run>", "only questions of this run")
    .option("--addressee <name>", "only those for this addressee")
    .option("--limit <count>", "most questions to list", wholeNumber(1, LIMIT_MAX), ROWS_DEFAULT);
  addKernelOptions(command).action((options: ListOptions) =>
    withKernel(context, options, async (session) => {
      printList(session.out, await readInputs(session, options), {
        schema: InputRequestSchema,
        noun: "question",
        print: (inputs) => printInputs(session, inputs),
      });
    }),
  );
}

/** The open questions that match, oldest first. */
export function readInputs(
  { kernel, namespace }: KernelSession,
  { run: runId = "", addressee = "", forAnybody = false, limit }: InputFilter,
): Promise<ReadList<InputRequest>> {
  return readList(limit, async (page) => {
    const request = { namespace, runId, addressee, forAnybody, ...page };
    const answer = await kernel.runs.listInputs(request, { timeoutMs: CALL_TIMEOUT_MS });
    return { items: answer.inputs, nextPageToken: answer.nextPageToken };
  });
}

function printInputs({ out, followUps }: KernelSession, inputs: readonly InputRequest[]): void {
  if (inputs.length === 0) {
    out.lines("No question matches: no task waits for an answer here.");
    return;
  }
  out.lines(`${count(inputs.length, "question")}, oldest first.`);
  for (const input of inputs) {
    const expected = ["--expected-version", `${input.version}`];
    const answer = followUps.command(
      "inputs answer",
      [input.inputId],
      [...expected, "--value", "JSON"],
    );
    out.lines("", inputHeadline(input, out.style));
    out.fields([...inputFields(input, out.clock), ["answer with", answer]]);
  }
}

import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { clean } from "../format/text.js";
import { messageFields } from "../json.js";
import { addKernelOptions, type KernelOptions, UINT32_MAX, wholeNumber } from "../options.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

interface OrderOptions extends KernelOptions {
  readonly reason: string;
  readonly expectedVersion?: number;
}

/** What is sent to a run as a whole. */
export interface OrderRequest {
  readonly namespace: string;
  readonly runId: string;
  readonly reason: string;
  readonly expectedVersion?: number;
}

/** An order that is given to a run as a whole: pause, resume, cancel, terminate. */
export interface RunOrder<D extends DescMessage> {
  readonly name: string;
  readonly description: string;
  /** Schema of its answer. */
  readonly schema: D;
  readonly send: (
    kernel: KernelSession["kernel"],
    request: OrderRequest,
    options: { readonly timeoutMs: number },
  ) => Promise<MessageShape<D>>;
  /** What is said of the answer; `run` names the run, at the beginning of a sentence. */
  readonly say: (answer: MessageShape<D>, run: string) => string;
  /** Commands that go on from there. */
  readonly next: (
    answer: MessageShape<D>,
    runId: string,
    followUps: KernelSession["followUps"],
  ) => readonly string[];
}

/** Adds the command that gives an order: the run, `--reason`, `--expected-version` and the options of every command that talks to a kernel. */
export function addRunOrder<D extends DescMessage>(
  group: Command,
  context: CliContext,
  order: RunOrder<D>,
): void {
  const command = group
    .command(order.name)
    .description(order.description)
    .argument("<run>", "id of the run")
    .option("--reason <text>", "why, for the record", "")
    .option(
      "--expected-version <number>",
      "only if the run has this version",
      wholeNumber(1, UINT32_MAX),
    );
  addKernelOptions(command).action((runId: string, options: OrderOptions) =>
    withKernel(context, options, (session) => giveOrder(session, order, runId, options)),
  );
}

async function giveOrder<D extends DescMessage>(
  { kernel, namespace, out, followUps }: KernelSession,
  order: RunOrder<D>,
  runId: string,
  { reason, expectedVersion }: OrderOptions,
): Promise<void> {
  const request = { namespace, runId, reason };
  const answer = await order.send(
    kernel,
    expectedVersion === undefined ? request : { ...request, expectedVersion },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  if (out.isJson) {
    out.json({ runId, ...messageFields(order.schema, answer) });
    return;
  }
  out.lines(order.say(answer, `Run ${out.style("bold", clean(runId))}`));
  out.next(order.next(answer, runId, followUps));
}

import { randomUUID } from "node:crypto";
import { SendSignalResponseSchema } from "@pawl/proto/v1/run_service_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { clean } from "../format/text.js";
import { messageFields } from "../json.js";
import { addKernelOptions, type KernelOptions, UINT32_MAX, wholeNumber } from "../options.js";
import { sameAgain } from "../sent-again.js";
import { type KernelSession, withKernel } from "../with-kernel.js";
import { readContent } from "./run-start.js";

interface SignalOptions extends KernelOptions {
  readonly payload?: string;
  readonly requestId?: string;
  readonly expectedVersion?: number;
}

/** `pawl signal RUN NAME`. */
export function addSignal(program: Command, context: CliContext): void {
  const command = program
    .command("signal")
    .description("send a named message into a run; it is kept until a task waits for it")
    .argument("<run>", "id of the run")
    .argument("<name>", "name of the signal")
    .option("--payload <json>", "its content: JSON, or @FILE with JSON in it")
    .option(
      "--request-id <id>",
      "identity of the signal: the same again changes nothing (default: a new UUID)",
    )
    .option(
      "--expected-version <number>",
      "only if the run has this version",
      wholeNumber(1, UINT32_MAX),
    );
  addKernelOptions(command).action(async (runId: string, name: string, options: SignalOptions) => {
    const payload = await readContent(context, "--payload", options.payload);
    const { requestId = randomUUID(), expectedVersion } = options;
    const signal = {
      runId,
      name,
      requestId,
      ...(payload === undefined ? {} : { payload }),
      ...(expectedVersion === undefined ? {} : { expectedVersion }),
    };
    const made = options.requestId === undefined ? ["--request-id", requestId] : [];
    const send = (session: KernelSession): Promise<void> => sendSignal(session, signal);
    await withKernel(context, options, send, sameAgain(made));
  });
}

async function sendSignal(
  { kernel, namespace, out, followUps }: KernelSession,
  signal: Parameters<KernelSession["kernel"]["runs"]["sendSignal"]>[0] & {
    readonly runId: string;
    readonly name: string;
    readonly requestId: string;
  },
): Promise<void> {
  const answer = await kernel.runs.sendSignal(
    { namespace, ...signal },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  const { runId, name, requestId } = signal;
  if (out.isJson) {
    out.json({ runId, name, requestId, ...messageFields(SendSignalResponseSchema, answer) });
    return;
  }
  const told = `Signal ${out.style("bold", clean(name))}`;
  out.lines(
    answer.existing
      ? `${told} had come before under this request id; nothing was changed.`
      : `${told} is in run "${clean(runId)}": the task that waits for it longest takes it, or the next one that does.`,
  );
  out.next([followUps.command("why", [runId])]);
}

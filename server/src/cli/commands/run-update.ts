import { randomUUID } from "node:crypto";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  type UpdateAnswer,
  UpdateRunResponseSchema,
  UpdateStatus,
} from "@pawl/proto/v1/run_service_pb.js";
import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { type ExitCode, exitCodes } from "../exit-codes.js";
import type { FieldValue } from "../format/field.js";
import { payloadField } from "../format/payload.js";
import { clean, sentence } from "../format/text.js";
import { messageFields } from "../json.js";
import {
  addKernelOptions,
  type KernelOptions,
  readLength,
  UINT32_MAX,
  wholeNumber,
} from "../options.js";
import { sameAgain } from "../sent-again.js";
import { type KernelSession, withKernel } from "../with-kernel.js";
import { readContent } from "./run-start.js";

/** Longest wait of one call, in ms: the kernel's own bound. */
const WAIT_MS = 50_000;

/** How much longer than its wait a call may take, in ms. */
const MORE_MS = 15_000;

interface UpdateOptions extends KernelOptions {
  readonly payload?: string;
  readonly updateId?: string;
  readonly expectedVersion?: number;
  readonly timeout: number;
}

type Request = Parameters<KernelSession["kernel"]["runs"]["updateRun"]>[0] & {
  readonly runId: string;
  readonly name: string;
  readonly updateId: string;
};

/** `pawl run update RUN NAME`. */
export function addRunUpdate(
  group: Command,
  context: CliContext,
  setExitCode: (code: number) => void,
): void {
  const command = group
    .command("update")
    .description(
      "send an update into a run and print what its code answers; ends with 1 when it refuses",
    )
    .argument("<run>", "id of the run")
    .argument("<name>", "name of the update")
    .option("--payload <json>", "its content: JSON, or @FILE with JSON in it")
    .option(
      "--update-id <id>",
      "identity of the update: the same again waits for the same answer (default: a new UUID)",
    )
    .option(
      "--expected-version <number>",
      "only if the run has this version",
      wholeNumber(1, UINT32_MAX),
    )
    .option(
      "--timeout <length>",
      "wait so long for the answer, as 30s; 0s: not at all",
      readLength,
      WAIT_MS,
    );
  addKernelOptions(command).action(async (runId: string, name: string, options: UpdateOptions) => {
    const payload = await readContent(context, "--payload", options.payload);
    const { updateId = randomUUID(), expectedVersion } = options;
    const request = {
      ...{ runId, name, updateId },
      ...(payload === undefined ? {} : { payload }),
      ...(expectedVersion === undefined ? {} : { expectedVersion }),
    };
    const made = options.updateId === undefined ? ["--update-id", updateId] : [];
    const send = async (session: KernelSession): Promise<void> =>
      setExitCode(await updateRun(session, request, options.timeout));
    await withKernel(context, options, send, sameAgain(made));
  });
}

async function updateRun(
  { kernel, namespace, out, followUps }: KernelSession,
  request: Request,
  timeoutMs: number,
): Promise<ExitCode> {
  const { runId, name, updateId } = request;
  let leftMs = timeoutMs;
  let waitMs = Math.min(leftMs, WAIT_MS);
  const response = await kernel.runs.updateRun(
    { namespace, ...request, wait: durationFromMs(waitMs) },
    { timeoutMs: waitMs + MORE_MS },
  );
  let { answer } = response;
  for (leftMs -= waitMs; answer?.status === UpdateStatus.OPEN && leftMs > 0; leftMs -= waitMs) {
    waitMs = Math.min(leftMs, WAIT_MS);
    ({ answer } = await kernel.runs.getUpdate(
      { namespace, runId, updateId, wait: durationFromMs(waitMs) },
      { timeoutMs: waitMs + MORE_MS },
    ));
  }
  if (out.isJson) {
    const told = answer === undefined ? response : { ...response, answer };
    out.json({ runId, name, updateId, ...messageFields(UpdateRunResponseSchema, told) });
    return exitCodeOf(answer);
  }
  const told = `Update ${out.style("bold", clean(name))} of run "${clean(runId)}"`;
  out.lines(...answerLines(told, answer));
  if (answer?.status === UpdateStatus.OPEN) {
    out.next([
      followUps.command(
        "run update",
        [runId, name],
        [
          ...["--update-id", updateId],
          ...(request.payload === undefined ? [] : ["--payload", "JSON"]),
        ],
      ),
      followUps.command("why", [runId]),
    ]);
  } else {
    out.next([followUps.command("run show", [runId])]);
  }
  return exitCodeOf(answer);
}

function exitCodeOf(answer: UpdateAnswer | undefined): ExitCode {
  switch (answer?.status) {
    case UpdateStatus.ACCEPTED:
      return exitCodes.ok;
    case UpdateStatus.REFUSED:
      return exitCodes.refused;
    default:
      return exitCodes.unanswered;
  }
}

function answerLines(told: string, answer: UpdateAnswer | undefined): string[] {
  switch (answer?.status) {
    case UpdateStatus.ACCEPTED:
      return acceptedLines(told, payloadField(answer.result) ?? "none");
    case UpdateStatus.REFUSED:
      return [`${told} was refused: ${sentence(clean(answer.reason))}`];
    default:
      return [`${told} is acknowledged and not answered yet. The same again waits for the answer.`];
  }
}

function acceptedLines(told: string, result: NonNullable<FieldValue>): string[] {
  return typeof result === "string"
    ? [`${told} was accepted with ${clean(result)}.`]
    : [`${told} was accepted with:`, ...result];
}

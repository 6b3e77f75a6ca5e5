import { durationMs } from "@bufbuild/protobuf/wkt";
import {
  type GetServerInfoResponse,
  GetServerInfoResponseSchema,
} from "@pawl/proto/v1/admin_service_pb.js";
import type { LogStatus } from "@pawl/proto/v1/log_status_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { formatBytes } from "../format/bytes.js";
import { clean, count, formatNumber } from "../format/text.js";
import { type Clock, formatLength, formatTime } from "../format/time.js";
import { addKernelOptions, type KernelOptions } from "../options.js";
import type { Output } from "../output.js";
import { withKernel } from "../with-kernel.js";

/** `pawl info`. */
export function addInfo(program: Command, context: CliContext): void {
  const command = program
    .command("info")
    .description("show the kernel's version, store, bounds and load");
  addKernelOptions(command).action((options: KernelOptions) =>
    withKernel(context, options, async ({ kernel, out, followUps }) => {
      const info = await kernel.admin.getServerInfo({}, { timeoutMs: CALL_TIMEOUT_MS });
      if (out.isJson) {
        out.message(GetServerInfoResponseSchema, info);
        return;
      }
      printStanding(out, info, kernel.url);
      out.fields(infoFields(info, out.clock));
      out.next([followUps.command("run list"), followUps.command("inbox")]);
    }),
  );
}

/** What is out of order, below the headline. */
function printStanding(out: Output, info: GetServerInfoResponse, url: string): void {
  out.lines(
    `Pawl ${out.style("bold", clean(info.version))} answers at ${clean(url)}.`,
    ...(info.diskLow
      ? [out.style("attention", "Its disk is low: new runs are refused, running ones go on.")]
      : []),
    ...(info.readOnlyReason === ""
      ? []
      : [out.style("attention", `It is read-only: ${clean(info.readOnlyReason)}.`)]),
  );
  for (const { message } of info.scrub?.findings ?? []) {
    out.lines(out.style("bad", `Damage: ${clean(message)}`));
  }
  const untold = (info.scrub?.findingCount ?? 0) - (info.scrub?.findings.length ?? 0);
  if (untold > 0) {
    const sentence = `Damage was found at ${count(untold, "place")}; which is told to an operator or admin of every namespace.`;
    out.lines(out.style("bad", sentence));
  }
}

function logFields(log: LogStatus | undefined): (readonly [string, string])[] {
  if (log === undefined) {
    return [];
  }
  const { trimmedSequence, anchorHash, retention } = log;
  const begins =
    trimmedSequence === 0n
      ? "from its first event on"
      : `after sequence ${formatNumber(trimmedSequence)}, hash ${Buffer.from(anchorHash).toString("hex")}`;
  const waits =
    log.waitingBytes === 0n ? "" : `, ${formatBytes(log.waitingBytes)} wait to be given back`;
  return [
    ["log kept", `${formatBytes(log.logBytes)}, ${begins}`],
    [
      "log retention",
      `${formatBytes(log.retentionBytes)}, ${formatLength(retention === undefined ? 0 : durationMs(retention))}`,
    ],
    ["store", `${formatBytes(log.storeBytes)} on disk${waits}`],
  ];
}

function infoFields(
  info: GetServerInfoResponse,
  clock: Clock,
): (readonly [string, string | undefined])[] {
  const { limits, durableSequence, horizonSequence } = info;
  return [
    ["store", `${info.storeId}, epoch ${info.storeEpoch}`],
    ["ready since", formatTime(info.readyAt, clock)],
    ["kernel time", formatTime(info.now, clock)],
    [
      "log",
      `${count(durableSequence, "durable event")}, ${formatNumber(durableSequence - horizonSequence)} of them not yet in rows`,
    ],
    ...logFields(info.log),
    ["in memory", count(info.residentRuns, "run")],
    ["protocol", `version ${info.protocolVersion}`],
    ["features", info.features.join(", ")],
    ...(limits === undefined
      ? []
      : [
          ["longest message", count(limits.messageBytesMax, "byte")] as const,
          ["longest inline content", count(limits.inlineBytesMax, "byte")] as const,
          [
            "longest plan",
            `${count(limits.planTasksMax, "task")}, ${count(limits.planBytesMax, "byte")}`,
          ] as const,
          ["longest id", count(limits.idBytesMax, "byte")] as const,
          ["largest batch", count(limits.batchItemsMax, "item")] as const,
        ]),
  ];
}

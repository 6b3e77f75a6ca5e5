import { type WatchRunResponse, WatchRunResponseSchema } from "@pawl/proto/v1/run_service_pb.js";
import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { eventLine } from "../format/event.js";
import { runHeadline } from "../format/run.js";
import { clean, sentence } from "../format/text.js";
import { addKernelOptions, type KernelOptions, readPosition } from "../options.js";
import { watchRun } from "../watch-run.js";
import { type KernelSession, withKernel } from "../with-kernel.js";
import { readRun } from "./run-show.js";

interface WatchOptions extends KernelOptions {
  readonly after?: Uint8Array;
}

/** `pawl run watch RUN`. */
export function addRunWatch(group: Command, context: CliContext): void {
  const command = group
    .command("watch")
    .description(
      "print the events of a run as they become durable, until it ends; goes on over restarts of the kernel",
    )
    .argument("<run>", "id of the run")
    .option(
      "--after <position>",
      "go on behind this position, as an earlier --json line gave it",
      readPosition,
    );
  addKernelOptions(command).action((runId: string, options: WatchOptions) =>
    withKernel(context, options, async (session) => {
      const { out, followUps } = session;
      for await (const answer of watchRun(session, runId, options.after ?? new Uint8Array())) {
        printAnswer(session, answer);
      }
      if (out.isJson) return;
      const run = await readRun(session, runId);
      out.lines("", runHeadline(run, out.style), clean(sentence(run.why)));
      out.next([followUps.command("report", [runId]), followUps.command("run show", [runId])]);
    }),
  );
}

function printAnswer({ out }: KernelSession, answer: WatchRunResponse): void {
  if (out.isJson) out.message(WatchRunResponseSchema, answer);
  else for (const event of answer.events) out.lines(eventLine(event, out.clock, out.style));
}

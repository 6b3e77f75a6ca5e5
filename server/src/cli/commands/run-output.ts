import { OutputEntrySchema } from "@pawl/proto/v1/output_pb.js";
import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { outputLines } from "../format/output-entry.js";
import { addKernelOptions, type KernelOptions } from "../options.js";
import { readOutput } from "../read-output.js";
import { withKernel } from "../with-kernel.js";

interface OutputOptions extends KernelOptions {
  readonly task?: string;
  readonly channel?: string;
  readonly follow?: boolean;
}

/** `pawl run output RUN`. */
export function addRunOutput(group: Command, context: CliContext): void {
  const command = group
    .command("output")
    .description("print the live output of a run's tasks that the kernel has in memory")
    .argument("<run>", "id of the run")
    .option("--task <task>", "only of this task")
    .option("--channel <channel>", "only this channel")
    .option(
      "--follow",
      "go on as it comes, until the task or the run ends; also over restarts of the kernel",
    );
  addKernelOptions(command).action((runId: string, options: OutputOptions) =>
    withKernel(context, options, async (session) => {
      const { out, followUps } = session;
      const { task = "", channel, follow = false } = options;
      let isEmpty = true;
      for await (const entry of readOutput(session, { runId, task, channel, follow })) {
        isEmpty = false;
        if (out.isJson) out.message(OutputEntrySchema, entry);
        else out.lines(...outputLines(entry, out.style));
      }
      if (isEmpty && !out.isJson) {
        out.lines("The kernel has no live output of it: nothing was emitted, or not lately.");
        out.next([
          followUps.command("run output", [runId], ["--follow"]),
          followUps.command("run show", [runId]),
        ]);
      }
    }),
  );
}

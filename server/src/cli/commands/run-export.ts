import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type RunStatus, RunStatusSchema } from "@pawl/proto/v1/run_pb.js";
import type { Command } from "commander";
import { usageError } from "../cli-error.js";
import type { CliContext } from "../context.js";
import { enumChoices } from "../format/enum-word.js";
import { count } from "../format/text.js";
import { addKernelOptions, enumWordOption, type KernelOptions } from "../options.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

interface ExportOptions extends KernelOptions {
  readonly status?: RunStatus;
  readonly workflow?: string;
  readonly all?: boolean;
  readonly out?: string;
}

/** `pawl run export [RUN…]`. */
export function addRunExport(group: Command, context: CliContext): void {
  const command = group
    .command("export")
    .description(
      "print runs as JSON lines: history, content, operations, proposals, and what proves them",
    )
    .argument("[runs...]", "ids of the runs")
    .option(
      "--status <status>",
      `instead of ids: runs in this state: ${enumChoices(RunStatusSchema).join(", ")}`,
      enumWordOption(RunStatusSchema),
    )
    .option("--workflow <name>", "instead of ids: runs of this workflow")
    .option("--all", "instead of ids: all runs of the namespace")
    .option("--out <file>", "write them into this file, which is there only once it is whole");
  addKernelOptions(command).action((runIds: string[], options: ExportOptions) => {
    requireChoice(runIds, options);
    return withKernel(context, options, (session) => exportTo(session, runIds, options));
  });
}

function requireChoice(runIds: readonly string[], { status, workflow, all }: ExportOptions): void {
  const isFiltered = status !== undefined || workflow !== undefined || all === true;
  if (isFiltered === (runIds.length === 0)) return;
  throw usageError(
    "Expected ids of runs, or one of --status, --workflow and --all, but " +
      (isFiltered ? "both were given." : "neither was given."),
    ["npx --no pawl run export order-7 --out order-7.jsonl"],
  );
}

async function exportTo(
  { kernel, namespace, context, out, followUps }: KernelSession,
  runIds: readonly string[],
  { status = 0, workflow = "", out: file }: ExportOptions,
): Promise<void> {
  const stream = kernel.runs.exportRuns({ namespace, runIds: [...runIds], status, workflow });
  let lines = 0;
  const texts = async function* (): AsyncGenerator<string> {
    for await (const message of stream) {
      lines += message.lines.length;
      yield message.lines.map((line) => `${line}\n`).join("");
    }
  };
  if (file === undefined) {
    for await (const text of texts()) context.writeOut(text);
    return;
  }
  const path = resolve(context.cwd, file);
  const beside = `${path}.new`;
  try {
    await pipeline(Readable.from(texts()), createWriteStream(beside, { mode: 0o600 }));
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
  out.notice(`Wrote ${count(lines, "line")} to ${file}.`);
  if (!out.isJson) out.next([followUps.command("export verify", [file])]);
}

import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import {
  type ExportCounts,
  ExportDamaged,
  ExportVerifier,
} from "../../kernel/export/export-verifier.js";
import { CliError } from "../cli-error.js";
import type { VerifyExportOptions } from "../commands/export-verify.js";
import type { CliContext } from "../context.js";
import { exitCodes } from "../exit-codes.js";
import { clean, count } from "../format/text.js";
import { Output } from "../output.js";

/**
 * `pawl export verify`: reads a file of `pawl run export`, a line at a time. Exit code 0 when all of it is as it was written, 1 with the first bad line when it
 * is not.
 */
export async function verifyExport(
  context: CliContext,
  file: string,
  options: VerifyExportOptions,
): Promise<number> {
  const out = new Output(context, options.json);
  try {
    tellSound(out, file, await verifyFile(resolve(context.cwd, file)));
    return exitCodes.ok;
  } catch (error) {
    if (!(error instanceof ExportDamaged)) {
      throw error;
    }
    if (out.isJson) out.json({ sound: false, line: error.line, problem: error.message });
    else
      out.lines(
        `${clean(file)} ${out.style("bad", "is not as it was written")}. ${clean(error.message)}`,
      );
    return exitCodes.refused;
  }
}

/** @throws ExportDamaged; CliError when the file cannot be read. */
async function verifyFile(path: string): Promise<ExportCounts> {
  const verifier = new ExportVerifier();
  for await (const line of linesOf(path)) verifier.line(line);
  return verifier.finish();
}

/** The lines of a file. Bytes that are no UTF-8 become other characters, which no line's chain has; only a line feed ends a line. */
async function* linesOf(path: string): AsyncGenerator<string, void, undefined> {
  let rest = "";
  try {
    for await (const text of createReadStream(path, { encoding: "utf8" })) {
      const lines = `${rest}${text}`.split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `Expected ${path} to be an export of runs, but it cannot be read: ${why}.`;
    throw new CliError(message, { exitCode: exitCodes.usage, reason: "PAWL_CLI_USAGE", cause });
  }
  if (rest !== "") yield rest;
}

function tellSound(out: Output, file: string, counts: ExportCounts): void {
  const { runs, events, chunks, contents, storeId, storeEpoch } = counts;
  if (out.isJson) {
    out.json({ sound: true, ...counts });
    return;
  }
  out.lines(
    `${clean(file)} is ${out.style("good", "sound")}: ${count(runs, "run")} of store ${clean(storeId)}, epoch ${storeEpoch}, with ${count(events, "event")} and ${count(contents, "content")} moved out of them.`,
    `${count(chunks, "chunk")} of history ${chunks === 1 ? "has its hash" : "have their hashes"} and ${chunks === 1 ? "follows" : "follow"} one another; ${sealsIn(counts)}.`,
  );
}

function sealsIn({ seals, chunks, sealedChunks }: ExportCounts): string {
  if (!seals) {
    return "the seals of the store are not part of it: they are given to an admin of every namespace alone";
  }
  const unsealed = chunks - sealedChunks;
  return unsealed === 0
    ? "the store sealed all of them"
    : `the store sealed ${sealedChunks} of them and was still to seal ${unsealed} when they were exported`;
}

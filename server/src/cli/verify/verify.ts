import { resolve } from "node:path";
import { verifyStore } from "../../kernel/storage/verify-store.js";
import { writeLastCheck } from "../../log/last-check.js";
import { type DataFolder, openDataFolder } from "../../log/open-store.js";
import { StoreDamaged } from "../../log/store-errors.js";
import type { VerifyOptions } from "../commands/verify.js";
import type { CliContext } from "../context.js";
import { exitCodes } from "../exit-codes.js";
import { Output } from "../output.js";
import { explainStoreError } from "../serve/explain-serve-error.js";
import { VerifyPrinter } from "./verify-printer.js";

/** The one partition that a kernel of this version has. */
const PARTITION = 0;

/**
 * `pawl verify`: reads all of a data folder that no kernel serves. Exit code 0 when everything is as written, 1 when
 * something is not.
 */
export async function verify(context: CliContext, options: VerifyOptions): Promise<number> {
  const printer = new VerifyPrinter(new Output(context, options.json), options.dir);
  const folder = await openToVerify(context, options);
  if (folder instanceof StoreDamaged) {
    printer.printUnopened(folder);
    return exitCodes.refused;
  }
  try {
    const { store, meta } = folder;
    for await (const report of verifyStore(store, { partition: PARTITION, meta })) {
      printer.print(report);
    }
  } finally {
    await folder.close();
  }
  await keepVerdict(context, options, printer);
  return printer.isSound ? exitCodes.ok : exitCodes.refused;
}

/** For `pawl doctor`. A copy on a medium that cannot be written is verified all the same. */
async function keepVerdict(
  context: CliContext,
  { dir }: VerifyOptions,
  { problems }: VerifyPrinter,
): Promise<void> {
  const check = { by: "verify", atMs: context.clock.nowMs(), problems } as const;
  await writeLastCheck(resolve(context.cwd, dir), check).catch(() => undefined);
}

/** The open folder, or the damage for which it cannot be opened. */
async function openToVerify(
  context: CliContext,
  options: VerifyOptions,
): Promise<DataFolder | StoreDamaged> {
  try {
    return await openDataFolder(resolve(context.cwd, options.dir), {
      create: false,
      checksAllTables: true,
    });
  } catch (error) {
    if (error instanceof StoreDamaged) return error;
    throw await explainStoreError(error, options);
  }
}

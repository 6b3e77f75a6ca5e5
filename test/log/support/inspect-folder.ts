/**
 * Opens each data folder named on the command line and says in one line of JSON what it found: refused and why, or all
 * that is stored. One process for many folders, since a start costs more than all of them; a native abort ends it, and
 * the caller goes on behind the folder that caused it.
 */

import { createHash } from "node:crypto";
import { type OpenDataFolderOptions, openDataFolder } from "@pawl/server/log/open-store.js";
import type { Store } from "@pawl/server/log/store.js";
import { readPages } from "@pawl/server/log/store-scan.js";
import { verifyLog } from "@pawl/server/log/verify-log.js";

const OPTIONS: OpenDataFolderOptions = { create: false };

for (const directory of process.argv.slice(2)) {
  process.stdout.write(`${JSON.stringify({ directory, ...(await inspect(directory)) })}\n`);
}

async function inspect(directory: string): Promise<object> {
  try {
    const { store, meta, close } = await openDataFolder(directory, OPTIONS);
    try {
      let problems = 0;
      let first: unknown;
      for await (const report of verifyLog(store, { partition: 0, meta })) {
        if (report.kind !== "problem") continue;
        problems += 1;
        first ??= report;
      }
      const digest = problems === 0 ? await digestOf(store) : "";
      return { verdict: problems === 0 ? "served" : "problems", problems, first, digest };
    } finally {
      await close();
    }
  } catch (error) {
    return { verdict: "refused", ...describe(error) };
  }
}

async function digestOf(store: Store): Promise<string> {
  const hash = createHash("sha256");
  for await (const page of readPages(store, { gte: Uint8Array.of(0), lt: Uint8Array.of(0xff) })) {
    for (const { key, value } of page) hash.update(key).update("=").update(value).update(";");
  }
  return hash.digest("hex");
}

function describe(error: unknown): object {
  if (!(error instanceof Error)) return { code: "", message: String(error) };
  const code = "code" in error ? error.code : error.name;
  return { code, message: error.message };
}

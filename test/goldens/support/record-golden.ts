/*
 * `npm run golden -- history NAME` and `npm run golden -- store NAME`: writes what later commits must still be able to read. It never writes over anything.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { writeHistories } from "./write-history.js";
import { writeStore } from "./write-store.js";

/** The sources: what is written goes there, and not beside the build that runs. */
const sources = fileURLToPath(new URL("../../../goldens/", import.meta.url));
const built = fileURLToPath(new URL("../", import.meta.url));

const usage = `usage: npm run golden -- history NAME   writes the histories that test/goldens/histories/NAME/code.ts plays
       npm run golden -- store NAME     writes the store that test/goldens/stores/NAME/code.ts fills
`;

/**
 * Writes new golden files.
 *
 * @returns 0 when they are written, 1 when something of that name is there already, 2 when the command line is not understood.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const [kind, name = "", ...rest] = argv;
  if (!/^[a-z0-9-]+$/.test(name) || rest.length > 0 || (kind !== "history" && kind !== "store")) {
    process.stderr.write(usage);
    return 2;
  }
  try {
    const files = kind === "history" ? await recordHistory(name) : await recordStore(name);
    process.stdout.write(`written: ${files.join(", ")}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`npm run golden: ${error instanceof Error ? error.message : error}\n`);
    return 1;
  }
}

async function recordHistory(name: string): Promise<string[]> {
  const code = codeOf("histories", name);
  if (!existsSync(code)) throw new Error(`Expected ${code}, but there is none.`);
  const { golden } = await import(pathToFileURL(code).href);
  return writeHistories(join(sources, "histories", name), golden);
}

function recordStore(name: string): Promise<string[]> {
  return writeStore(codeOf("stores", name), join(sources, "stores", name));
}

function codeOf(kind: string, name: string): string {
  return join(built, kind, name, "code.js");
}

import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { exampleFolder, runFile } from "./folders.js";

const firstRunId = "incident-1";

/** The run that `npm start` goes on with: the one it started last, `incident-1` at first. */
export async function readRunId(): Promise<string> {
  const text = await readFile(runFile, "utf8").catch(() => "{}");
  const { runId } = parseObject(text);
  return typeof runId === "string" && /^incident-[1-9]\d{0,8}$/.test(runId) ? runId : firstRunId;
}

/** Remembers the run before it is started, so that a kill in between starts the same one again. */
export async function writeRunId(runId: string): Promise<void> {
  await mkdir(exampleFolder, { recursive: true });
  await writeFile(`${runFile}.part`, `${JSON.stringify({ runId })}\n`);
  await rename(`${runFile}.part`, runFile);
}

/** The next id: `incident-2` after `incident-1`. */
export function nextRunId(runId: string): string {
  return `incident-${Number(runId.slice("incident-".length)) + 1}`;
}

function parseObject(text: string): Readonly<Partial<Record<string, unknown>>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    // A file that somebody wrote into says nothing, and costs nothing: the kernel knows its runs.
    return {};
  }
}

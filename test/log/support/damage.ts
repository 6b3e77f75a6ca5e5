/** Copies of a whole data folder, each damaged in one place, and what opening them says. */

import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buildChunk, CHUNK_ORIGIN } from "@pawl/server/log/chunk.js";
import { chunkKey, nameKey, runKey } from "@pawl/server/log/key.js";
import { openDataFolder } from "@pawl/server/log/open-store.js";
import { writeRow } from "@pawl/server/log/row.js";
import type { ChainPoint } from "@pawl/server/log/segment.js";
import type { RowPut } from "@pawl/server/log/store.js";
import { eventsBytes, sampleChain } from "../log-samples.js";
import { runChild } from "./child.js";

/** What the child found in one folder. */
export interface Inspection {
  readonly directory: string;
  /** `aborted`: the process was ended by a native abort while it had this folder open. */
  readonly verdict: "served" | "problems" | "refused" | "aborted";
  readonly code?: string;
  readonly message?: string;
  readonly first?: { readonly firstBadSequence?: number; readonly key?: string };
  readonly digest?: string;
}

/**
 * Makes a folder whose first half lies in a LevelDB table and whose second half lies in a log, as after a crash:
 * segments, and for every tenth event a run with its row, name and chunk.
 */
export async function makeFolder(directory: string): Promise<void> {
  let point: ChainPoint | undefined;
  for (const half of [0, 1]) {
    const { store, meta, close } = await openDataFolder(directory, { create: true });
    const fence = { epoch: meta.identity.epoch };
    for (let batch = 0; batch < 10; batch += 1) {
      const chain = sampleChain(point ?? meta.anchor, 20);
      await store.append(chain, fence);
      point = chain.at(-1)?.end;
      const puts = [0, 1].flatMap((at) => rowsOf(1 + half * 100 + batch * 10 + at));
      await store.putRows({ puts, deletes: [], ranges: [] }, fence);
    }
    await close();
  }
}

/** Copies `source` for every change and applies it there. Gives the folders in the order of the changes. */
export async function damageCopies(
  source: string,
  parent: string,
  changes: readonly ((copy: string) => Promise<void>)[],
): Promise<readonly string[]> {
  await mkdir(parent, { recursive: true });
  const copies: string[] = [];
  for (const [index, change] of changes.entries()) {
    const copy = join(parent, String(index));
    await cp(source, copy, { recursive: true });
    await change(copy);
    copies.push(copy);
  }
  return copies;
}

/** Opens every folder in a child process, and goes on behind one that killed it. */
export async function inspectFolders(folders: readonly string[]): Promise<readonly Inspection[]> {
  const found: Inspection[] = [];
  while (found.length < folders.length) {
    const { signal, code, output, errors } = await runChild(
      "inspect-folder.ts",
      folders.slice(found.length),
    );
    for (const line of output.split("\n").filter((text) => text !== "")) {
      found.push(JSON.parse(line) as Inspection);
    }
    if (code === 0) continue;
    const directory = folders[found.length] ?? "";
    if (signal === null) throw new Error(`the child failed on ${directory}: ${errors}`);
    found.push({ directory, verdict: "aborted", message: `${signal} ${errors}` });
  }
  return found;
}

/** Turns one bit of a file. */
export async function flipBit(path: string, bit: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  await writeFile(path, bytes);
}

/** Cuts a file. */
export async function cutTo(path: string, length: number): Promise<void> {
  await writeFile(path, (await readFile(path)).subarray(0, length));
}

function rowsOf(runNumber: number): readonly RowPut[] {
  const payload = Buffer.from(`state of run ${runNumber}`);
  const row = { schemaVersion: 1, asOfEvent: 30, asOfSequence: runNumber, payload };
  const run = runKey.encode({ partition: 0, runNumber });
  const name = nameKey.encode({ partition: 0, namespace: "default", runId: `run-${runNumber}` });
  const slice = { firstSequence: 1, timeBaseMs: 1, firstEventNumber: 1, count: 30 };
  const slices = [{ ...slice, bytes: eventsBytes(30, 20, runNumber) }];
  const chunk = { runNumber, chunkNumber: 0, prevHash: CHUNK_ORIGIN.hash, slices };
  return [
    { key: run, value: writeRow(run, row) },
    { key: name, value: writeRow(name, row) },
    {
      key: chunkKey.encode({ partition: 0, runNumber, chunkNumber: 0 }),
      value: buildChunk(chunk).value,
    },
  ];
}

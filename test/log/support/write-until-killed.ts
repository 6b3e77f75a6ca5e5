/**
 * Appends segments and puts rows, both at once and without end, into the data folder named on the command line; prints
 * `s SEQUENCE` or `r RUN` for each when it is acknowledged. Ends with `failed CODE` when the store fails.
 */

import { writeSync } from "node:fs";
import { runKey } from "@pawl/server/log/key.js";
import { readLastSegment } from "@pawl/server/log/log-reader.js";
import { openDataFolder } from "@pawl/server/log/open-store.js";
import { writeRow } from "@pawl/server/log/row.js";
import { type ChainPoint, chainPointOf } from "@pawl/server/log/segment.js";
import { sampleSegment } from "../log-samples.js";

const [directory = "", firstRun = "0", eventBytes = "100"] = process.argv.slice(2);
const { store, meta, close } = await openDataFolder(directory, { create: true });
const fence = { epoch: meta.identity.epoch };
const head = await readLastSegment(store, 0);
let point: ChainPoint = head === undefined ? meta.anchor : chainPointOf(head);
let runNumber = Number(firstRun);
say("open");
const ends = await Promise.allSettled([appendForEver(), putForEver()]);
for (const end of ends) if (end.status === "rejected") say(`failed ${String(end.reason.code)}`);
await close();
say("closed");

async function appendForEver(): Promise<void> {
  for (;;) {
    const segment = sampleSegment(point, [1, 2, 3], Number(eventBytes));
    await store.append([segment], fence);
    point = segment.end;
    say(`s ${segment.firstSequence}`);
  }
}

async function putForEver(): Promise<void> {
  for (;;) {
    const key = runKey.encode({ partition: 0, runNumber });
    // Not compressible, and larger than a block of LevelDB's log.
    const payload = Buffer.alloc(40_000, `${Math.sin(runNumber)}`);
    const value = writeRow(key, { schemaVersion: 1, asOfEvent: 1, asOfSequence: 1, payload });
    await store.putRows({ puts: [{ key, value }], deletes: [], ranges: [] }, fence);
    say(`r ${runNumber}`);
    runNumber += 1;
  }
}

function say(line: string): void {
  writeSync(1, `${line}\n`);
}

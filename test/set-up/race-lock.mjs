/*
 * Takes the set-up lock while somebody else puts up a claim at the worst moment: after we looked and
 * saw none, before ours is there. `node race-lock.mjs LOCK_FOLDER`; the other is our parent process.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { readPidSpace, readStartOf } from "../../scripts/lib/process-identity.mjs";

const [directory = ""] = process.argv.slice(2);
const write = fs.writeFileSync;
fs.writeFileSync = (...args) => {
  fs.writeFileSync = write;
  syncBuiltinESMExports();
  const rival = `${process.ppid}.${readStartOf(process.ppid)}.${readPidSpace()}.0123456789ab`;
  write(join(directory, rival), "the rival\n");
  write(...args);
};
syncBuiltinESMExports();

const { acquireSetUpLock } = await import("../../scripts/lib/lock.mjs");
const { listenForStop } = await import("../../scripts/lib/stop.mjs");
const stop = listenForStop();
/** @param {string} line */
const say = (line) => process.stderr.write(`${line}\n`);
const lock = await acquireSetUpLock({ directory, holder: "a test", stop, say });
process.stdout.write(`${JSON.stringify({ event: "held" })}\n`);
lock.release();
stop.close();

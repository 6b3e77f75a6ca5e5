/*
 * Takes the set-up lock in the folder given, notes it in a file, holds it for a while, and notes that
 * it lets go: `node hold-lock.mjs LOCK_FOLDER NOTES HOLD_MS [CHILD_MS]`. HOLD_MS of 0 holds for ever.
 * With CHILD_MS a child that lives so long holds the lock too.
 */
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { acquireSetUpLock } from "../../scripts/lib/lock.mjs";
import { listenForStop } from "../../scripts/lib/stop.mjs";

const [directory = "", notes = "", holdMs = "0", childMs] = process.argv.slice(2);
const stop = listenForStop();
/** @param {string} line */
const say = (line) => process.stderr.write(`${line}\n`);
const lock = await acquireSetUpLock({ directory, holder: "a test", stop, say });
appendFileSync(notes, `+${process.pid}\n`);
if (childMs !== undefined) {
  const script = `setTimeout(() => {}, ${childMs})`;
  const child = spawn(process.execPath, ["-e", script], { detached: true, stdio: "ignore" });
  if (child.pid !== undefined) lock.alsoHeldBy(child.pid);
  process.stdout.write(`${JSON.stringify({ event: "child", pid: child.pid })}\n`);
}
process.stdout.write(`${JSON.stringify({ event: "held" })}\n`);
if (holdMs === "0") setInterval(() => {}, 1000);
else {
  await sleep(Number(holdMs));
  appendFileSync(notes, `-${process.pid}\n`);
  lock.release();
  stop.close();
}

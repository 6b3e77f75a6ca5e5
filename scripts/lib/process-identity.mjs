import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/*
 * A process id alone names no process: it is used again after a while, and means another process in
 * another container or after a reboot. What a claim keeps is therefore three things: the id, when
 * that process began, and the space in which the id has a meaning.
 */

/**
 * When a process began, in a form that only serves to be compared.
 *
 * @param {number} pid
 * @returns {string | undefined} nothing when no such process lives (a zombie does not)
 */
export function readStartOf(pid) {
  return process.platform === "linux" ? readLinuxStart(pid) : readPsStart(pid);
}

/**
 * The space in which a process id has a meaning: one boot of one machine, one pid namespace.
 *
 * @returns {string} letters and digits
 */
export function readPidSpace() {
  const parts = [hostname()];
  if (process.platform === "linux") {
    parts.push(readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
    parts.push(readlinkSync("/proc/self/ns/pid"));
  }
  return createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 12);
}

/** @param {number} pid */
function readLinuxStart(pid) {
  let stat;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    // ENOENT, or ESRCH when it ended while we read: either way it is gone.
    return undefined;
  }
  // The second field is the command in brackets and may hold anything, so count after its end.
  // proc(5): field 3 is the state, field 22 the start time in clock ticks since boot.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const state = fields[0];
  return state === "Z" || state === "X" ? undefined : fields[19];
}

/** @param {number} pid */
function readPsStart(pid) {
  try {
    const text = execFileSync("ps", ["-o", "state=,lstart=", "-p", String(pid)], {
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C" },
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
    if (text === "" || text.startsWith("Z")) return undefined;
    const start = text.replace(/^\S+\s+/, "");
    return createHash("sha256").update(start).digest("hex").slice(0, 12);
  } catch {
    // ps answers with exit code 1 for a process that is not there.
    return undefined;
  }
}

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** Clock ticks per second of Linux's /proc; 100 on every common build. */
const ticksPerSecond = 100;

/** CPU time that a process has used in all its threads, in µs. Linux only; 0 elsewhere. */
export function cpuUs(pid: number): number {
  const stat = readProc(pid, "stat");
  // The command name, in parentheses, may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
  return (ticks * 1_000_000) / ticksPerSecond;
}

/** Resident memory of a process, in MB. Linux only; 0 elsewhere. */
export function rssMb(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readProc(pid, "status"));
  return Math.round(Number(match?.[1] ?? 0) / 1024);
}

function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}

/** Bytes of all files below a folder. Files that vanish meanwhile (compaction) count as 0. */
export function folderBytes(directory: string): number {
  let bytes = 0;
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    try {
      bytes += entry.isDirectory() ? folderBytes(path) : statSync(path).size;
    } catch {
      // Compaction removed it between the listing and the look.
    }
  }
  return bytes;
}

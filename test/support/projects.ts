import { spawnSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isPythonSetUp } from "./python.js";

/** The test projects. `core` needs only Node and npm; the others say what more they need. */
export type ProjectName = "core" | "crash" | "python" | "root" | "set-up";

/** A project, and whether it runs on this machine. */
export interface Project {
  readonly name: ProjectName;
  /** What it needs beyond Node and npm, for the line that says that it was not run. */
  readonly needs: string;
  readonly isRun: boolean;
}

const isCi = process.env["CI"] === "true";

/**
 * All projects in the order in which they run. What a machine lacks is left out and named at the
 * end, but in CI (`CI=true`) every project is mandatory: there, a missing need is a failed test.
 */
export const PROJECTS: readonly Project[] = [
  { name: "core", needs: "nothing more", isRun: true },
  { name: "crash", needs: "nothing more", isRun: true },
  {
    name: "python",
    needs: "Python 3.11, set up by python3 examples/python/set-up.py",
    isRun: isCi || isPythonSetUp(),
  },
  { name: "root", needs: "the right to mount a tmpfs (root on Linux)", isRun: isCi || canMount() },
  { name: "set-up", needs: "nothing more", isRun: true },
];

function canMount(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  const folder = mkdtempSync(join(tmpdir(), "pawl-can-mount-"));
  try {
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]);
    if (mounted.status !== 0) return false;
    return spawnSync("umount", [folder]).status === 0;
  } finally {
    rmdirSync(folder);
  }
}

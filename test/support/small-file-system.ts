import { execFileSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system of a fixed size, for tests that fill a disk. */
export interface SmallFileSystem {
  /** Where it is mounted. */
  readonly folder: string;
  /** Unmounts it and removes its folder, with all that is still in it. */
  readonly remove: () => void;
}

/**
 * Mounts a tmpfs of a fixed size. Only for tests of the project `root`: a file named
 * `*.root.test.ts`.
 *
 * @param sizeBytes rounded up to whole pages by the kernel
 * @throws Error when this process may not mount
 */
export function mountSmallFileSystem(sizeBytes: number): SmallFileSystem {
  const folder = mkdtempSync(join(tmpdir(), "pawl-small-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${sizeBytes}`, "tmpfs", folder]);
  } catch (error) {
    rmdirSync(folder);
    throw new Error("expected to mount a tmpfs, but this process may not", { cause: error });
  }
  return {
    folder,
    remove: () => {
      // Lazily, so that a file which a killed child still holds open does not keep it mounted.
      execFileSync("umount", ["--lazy", folder]);
      rmdirSync(folder);
    },
  };
}

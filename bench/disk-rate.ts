import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

/** Synced appends of 4 KiB that the disk under `directory` takes per second, measured for `ms`. No durable rate can be read without it. */
export function measureDiskRate(directory: string, ms = 1000): number {
  const path = join(directory, "disk-rate");
  const file = openSync(path, "w");
  const block = Buffer.alloc(4096, 1);
  try {
    const startMs = performance.now();
    let count = 0;
    while (performance.now() - startMs < ms) {
      writeSync(file, block);
      fdatasyncSync(file);
      count++;
    }
    return Math.round((count * 1000) / (performance.now() - startMs));
  } finally {
    closeSync(file);
    rmSync(path);
  }
}

import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { Gauge, type Registry } from "prom-client";

/** How long sizes are told again without another look: a large store has thousands of files. */
const freshMs = 15_000;

interface Sizes {
  readonly storeBytes: number;
  readonly freeBytes: number;
}

/** Registers the sizes of a data folder and of the file system that it lies on. */
export function storeGauges(registry: Registry, folder: string): void {
  let last: Promise<Sizes> | undefined;
  let lastMs = Number.NEGATIVE_INFINITY;
  const look = (): Promise<Sizes> => {
    const nowMs = performance.now();
    if (last === undefined || nowMs - lastMs > freshMs) {
      lastMs = nowMs;
      last = measure(folder);
    }
    return last;
  };
  const gauge = (name: string, help: string, read: (sizes: Sizes) => number): void => {
    const made: Gauge = new Gauge({
      registers: [registry],
      name,
      help,
      collect: async () => made.set(read(await look())),
    });
  };
  gauge("pawl_store_bytes", "Bytes of the files of the data folder.", (sizes) => sizes.storeBytes);
  gauge(
    "pawl_store_free_bytes",
    "Bytes that the file system of the data folder still gives.",
    (sizes) => sizes.freeBytes,
  );
}

async function measure(folder: string): Promise<Sizes> {
  const { bavail, bsize } = await statfs(folder);
  return { storeBytes: await bytesOf(folder), freeBytes: bavail * bsize };
}

/** Files come and go while they are counted; one that is gone has no bytes. */
async function bytesOf(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) {
      bytes += await stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      );
    }
  }
  return bytes;
}

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EmbeddedKernel, openKernel } from "@pawl/sdk";
import { afterEach, beforeEach } from "vitest";

/** An embedded kernel in a folder of its own. */
export interface Embedded {
  /** The present one; a test that closes it and opens another puts that here. */
  kernel: EmbeddedKernel;
  readonly dir: string;
  /** Closes the present one, workers included, and opens another on the same folder. */
  restart(): Promise<void>;
}

/** One for every test of the file that calls it: opened before each, closed and removed after it. */
export function eachEmbedded(): Embedded {
  let kernel: EmbeddedKernel | undefined;
  let dir = "";
  const current = (): EmbeddedKernel => {
    if (kernel === undefined) {
      throw new Error("outside of a test");
    }
    return kernel;
  };
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "pawl-sdk-"));
    kernel = await openKernel({ dir });
  });
  afterEach(async () => {
    await current().close({ drainMs: 500 });
    await rm(dir, { recursive: true, force: true });
  });
  return {
    get kernel() {
      return current();
    },
    set kernel(another) {
      kernel = another;
    },
    get dir() {
      return dir;
    },
    restart: async () => {
      await current().close({ drainMs: 500 });
      kernel = await openKernel({ dir });
    },
  };
}

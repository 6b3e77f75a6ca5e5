import type { Kernel } from "@pawl/server/kernel/kernel.js";
import { openKernel } from "@pawl/server/kernel/open-kernel.js";
import type { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { testFence, testSecret } from "../../../support/kernel.js";

/** A kernel on a disk in memory that writes rows as soon as anything is unsaved, so that the log is trimmed behind them. */
export function openTrimming(disk: MemoryDisk): Promise<Kernel> {
  const checkpoint = { beginBytes: 0, logRetentionBytes: 0 };
  return openKernel({
    store: disk.open({ epoch: testFence.epoch }),
    secret: testSecret,
    checkpoint,
  });
}

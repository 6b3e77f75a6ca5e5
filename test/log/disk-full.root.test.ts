import { statfsSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openDataFolder } from "@pawl/server/log/open-store.js";
import { afterAll, describe, expect, test } from "vitest";
import { mountSmallFileSystem } from "../support/small-file-system.js";
import { acknowledgedIn, expectAcknowledged } from "./support/acknowledged.js";
import { runChild } from "./support/child.js";

const { folder: mount, remove } = mountSmallFileSystem(24 * 1024 * 1024);

describe("a full disk (tmpfs of 24 MiB)", () => {
  afterAll(remove);

  test("ends the handle, and loses nothing acknowledged once it has room again", async () => {
    const directory = join(mount, "data");
    const sequences: number[] = [];
    const runNumbers: number[] = [];
    for (const round of [1, 2, 3]) {
      // Leave little and odd room, so that the disk fills in the middle of a batch.
      const ballast = join(mount, "ballast");
      writeFileSync(ballast, Buffer.alloc(Math.max(0, freeBytes() - 1_500_000 - round * 4_096)));
      const { output, errors } = await runChild("write-until-killed.ts", [
        directory,
        String(round * 10_000),
        "120",
      ]);
      expect(output, errors).toContain("failed PAWL_STORE_FAILED");
      expect(output).toContain("closed");
      const acked = acknowledgedIn(output);
      expect(acked.sequences.length + acked.runNumbers.length).toBeGreaterThan(0);
      sequences.push(...acked.sequences);
      runNumbers.push(...acked.runNumbers);
      truncateSync(ballast, 0);
      await expectAcknowledged(directory, { sequences, runNumbers });
    }
  });

  test("refuses to open what it has no room to open, as a failure and not as damage, and harms nothing", async () => {
    const directory = join(mount, "other");
    const { store, meta, close } = await openDataFolder(directory, { create: true });
    const puts = [{ key: Uint8Array.of(0x10, 0, 0), value: Buffer.alloc(300_000, "x1y2z3") }];
    await store.putRows({ puts, deletes: [], ranges: [] }, { epoch: meta.identity.epoch });
    await close();
    const ballast = join(mount, "ballast");
    fill(ballast);
    await expect(openDataFolder(directory, { create: false })).rejects.toMatchObject({
      code: "PAWL_STORE_FAILED",
    });
    truncateSync(ballast, 0);
    const again = await openDataFolder(directory, { create: false });
    expect(again.store.get(Uint8Array.of(0x10, 0, 0))?.byteLength).toBe(300_000);
    await again.close();
  });
});

function freeBytes(): number {
  const { bavail, bsize } = statfsSync(mount);
  return bavail * bsize;
}

function fill(path: string): void {
  writeFileSync(path, Buffer.alloc(freeBytes()));
}

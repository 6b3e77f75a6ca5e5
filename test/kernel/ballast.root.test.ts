import { statfsSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { localCaller } from "@pawl/server/core/caller.js";
import type { Kernel } from "@pawl/server/kernel/kernel.js";
import { openKernel } from "@pawl/server/kernel/open-kernel.js";
import { type DataFolder, openDataFolder } from "@pawl/server/log/open-store.js";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { completeTask, leaseTask, startRun } from "../core/support/commands.js";
import { planOf } from "../core/support/plans.js";
import { mountSmallFileSystem } from "../support/small-file-system.js";

const mib = 1024 * 1024;
const { folder: mount, remove } = mountSmallFileSystem(96 * mib);
const filler = join(mount, "filler");
const marks = { newRunsBytesMin: 24 * mib, completionsBytesMin: 8 * mib };
const patient = { timeout: 30_000 };

let kernel: Kernel | undefined;

afterEach(() => kernel?.close());
afterAll(remove);

function freeBytes(): number {
  const { bavail, bsize } = statfsSync(mount);
  return bavail * bsize;
}

/** Lets somebody else use the disk, but for so much. */
function leave(bytes: number): void {
  writeFileSync(filler, Buffer.alloc(Math.max(0, freeBytes() - bytes), 1), { flag: "a" });
}

function ballastBytes(directory: string): number {
  return statSync(join(directory, "ballast"), { throwIfNoEntry: false })?.size ?? 0;
}

async function open(directory: string): Promise<Kernel> {
  const folder: DataFolder = await openDataFolder(directory, {
    create: true,
    ballastBytes: 16 * mib,
  });
  const disk = { ballast: folder.ballast, marks, ballastAfterMs: 0, ballastPauseMs: 1 };
  kernel = await openKernel({ store: folder.store, secret: folder.secret, disk });
  return kernel;
}

const plan = planOf({ only: {} });
const target = (runId: string) => ({ kind: "run", namespace: "default", runId }) as const;

async function ask(on: Kernel, runId: string, command: Parameters<Kernel["ask"]>[1]) {
  return await on.ask(target(runId), command, localCaller, (outcome) =>
    outcome.accepted ? "accepted" : outcome.rejection.reason,
  );
}

describe("the ballast (tmpfs of 96 MiB)", () => {
  test("is built, given back when the disk is nearly full so that runs end, and built again", async () => {
    const directory = join(mount, "data");
    const on = await open(directory);
    await vi.waitFor(() => expect(ballastBytes(directory)).toBe(16 * mib), patient);
    expect(await ask(on, "r1", startRun(plan, { runId: "r1" }))).toBe("accepted");
    expect(await ask(on, "r1", leaseTask(0))).toBe("accepted");

    leave(4 * mib);
    await vi.waitFor(() => expect(ballastBytes(directory)).toBe(0), patient);
    expect(freeBytes()).toBeGreaterThan(16 * mib);
    expect(await ask(on, "r2", startRun(plan, { runId: "r2" }))).toBe("PAWL_DISK_LOW");
    expect(await ask(on, "r1", completeTask(1))).toBe("accepted");

    truncateSync(filler, 0);
    await vi.waitFor(() => expect(ballastBytes(directory)).toBe(16 * mib), patient);
    await vi.waitFor(
      async () => expect(await ask(on, "r3", startRun(plan, { runId: "r3" }))).toBe("accepted"),
      patient,
    );
  });

  test("lets a store be opened on a disk that is full to the last byte", async () => {
    const directory = join(mount, "full");
    const on = await open(directory);
    await vi.waitFor(() => expect(ballastBytes(directory)).toBe(16 * mib), patient);
    expect(await ask(on, "r1", startRun(plan, { runId: "r1" }))).toBe("accepted");
    expect(await ask(on, "r1", leaseTask(0))).toBe("accepted");
    await on.close();
    leave(0);
    expect(freeBytes()).toBe(0);
    const again = await open(directory);
    expect(ballastBytes(directory)).toBe(0);
    expect(await ask(again, "r1", completeTask(1))).toBe("accepted");
    await again.close();
    truncateSync(filler, 0);
  });

  test("is no part that stays when its building is cut short", async () => {
    const directory = join(mount, "cut");
    const folder = await openDataFolder(directory, { create: true, ballastBytes: 16 * mib });
    let pieces = 0;
    await folder.ballast.build(() => {
      pieces++;
      if (pieces === 3) {
        folder.ballast.release();
      }
      return Promise.resolve();
    });
    expect(pieces).toBe(3);
    expect(folder.ballast.isWhole).toBe(false);
    leave(2 * mib);
    await folder.ballast.build(() => Promise.resolve());
    expect(folder.ballast.isWhole).toBe(false);
    expect(freeBytes()).toBeGreaterThan(mib);
    truncateSync(filler, 0);
    await folder.close();
  });
});

import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { localCaller } from "@pawl/server/core/caller.js";
import type { Kernel } from "@pawl/server/kernel/kernel.js";
import type { WatchListener } from "@pawl/server/kernel/kernel-api.js";
import { type OpenKernelOptions, openKernel } from "@pawl/server/kernel/open-kernel.js";
import { segmentKey } from "@pawl/server/log/key.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { openDataFolder } from "@pawl/server/log/open-store.js";
import { readSegment } from "@pawl/server/log/segment.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { completeTask, leaseTask, startRun } from "../../core/support/commands.js";
import { payload } from "../../core/support/values.js";
import { createMemoryStore, testFence, testSecret } from "../../support/kernel.js";
import { VirtualTime } from "../../support/virtual-time.js";
import { HookedStore } from "./support/hooked-store.js";
import { onePlan, runOf } from "./support/one-run.js";

const mib = 1024 * 1024;
const day = 86_400_000;

let disk: MemoryDisk;
let time: VirtualTime;
let kernel: Kernel;
let store: HookedStore;

beforeEach(async () => {
  disk = new MemoryDisk();
  await createMemoryStore(disk);
  time = new VirtualTime();
});

afterEach(() => kernel.close());

async function open(options: Partial<OpenKernelOptions> = {}): Promise<void> {
  store = new HookedStore(disk.open({ epoch: testFence.epoch }));
  kernel = await openKernel({ store, secret: testSecret, clock: time, timers: time, ...options });
  await kernel.openWorkKnown;
}

async function runMany(
  from: number,
  count: number,
  input: ReturnType<typeof payload>,
  workflow = "w",
): Promise<void> {
  for (let index = from; index < from + count; index++) {
    const target = runOf(`r${index}`);
    const asked = [
      kernel.ask(
        target,
        startRun(onePlan, { runId: `r${index}`, input, workflow }),
        localCaller,
        () => 0,
      ),
      kernel.ask(target, leaseTask(0), localCaller, () => 0),
      kernel.ask(target, completeTask(1), localCaller, () => 0),
    ];
    await time.settle();
    await Promise.all(asked);
  }
}

describe("how much of the log is kept", () => {
  it("is 256 MiB and 7 days when nobody ever said", async () => {
    await open();
    expect(kernel.info().log).toMatchObject({
      anchor: { sequence: 0 },
      retention: { bytes: 256 * mib, ms: 7 * day },
    });
  });

  it("is remembered by the store, each bound by itself", async () => {
    await open({ logRetention: { bytes: mib } });
    await kernel.close();
    await open({ logRetention: { ms: day } });
    expect(kernel.info().log.retention).toEqual({ bytes: mib, ms: day });
    await kernel.close();
    await open();
    expect(kernel.info().log.retention).toEqual({ bytes: mib, ms: day });
  });

  it("holds for a log that grows slowly, by its age", async () => {
    await open({ logRetention: { ms: 8 * day } });
    for (let round = 0; round < 16; round++) {
      await runMany(round, 1, payload("small"));
      await time.advance(day);
    }
    const { anchor } = kernel.info().log;
    const [first] = await store.read({ ...segmentKey.range({ partition: 0 }), limit: 1 });
    const segment = first && readSegment(first.key, first.value);
    expect(segment?.firstSequence).toBe(anchor.sequence + 1);
    const ageDays = (time.wallMs() - (segment?.timeBaseMs ?? 0)) / day;
    expect(ageDays).toBeGreaterThan(6);
    expect(ageDays).toBeLessThan(9.1);
  });

  it("holds also while nothing happens", async () => {
    await open({ logRetention: { ms: 8 * day } });
    await runMany(0, 3, payload("small"));
    await time.advance(2 * day);
    await runMany(3, 3, payload("small"));
    await time.advance(5000);
    expect(kernel.info().log.anchor.sequence).toBe(0);
    await time.advance(9 * day);
    expect(kernel.info().log.anchor.sequence).toBeGreaterThan(0);
  });
});

describe("a reader of the log", () => {
  const listen = (filter: { namespace: string; workflow: string }, position: Uint8Array) => {
    const seen: number[] = [];
    const ended = new Promise<unknown>((resolve) => {
      const events: WatchListener["events"] = (batch, _, bytes) => {
        seen.push(...batch.map(({ event }) => event.sequence));
        void watcher.then((watch) => watch.taken(bytes));
      };
      const watcher = kernel.watchRuns(filter, position, { events, end: resolve, fail: resolve });
    });
    return { seen, ended };
  };

  it("that is so slow that the log is trimmed past it is told so, and not fed a gap or told of damage", async () => {
    await open({ checkpoint: { logRetentionBytes: 0 } });
    const filter = { namespace: "default", workflow: "w" };
    const { position } = await kernel.watchRuns(filter, new Uint8Array(), {
      ...{ events: () => {}, end: () => {}, fail: () => {} },
    });
    await runMany(0, 30, payload("small"));
    // It has its first page before it, when the log is trimmed past the next one. What comes meanwhile is of others, and does not fill its room.
    let reads = 0;
    store.beforeRead = async ({ gte, limit }) => {
      if (gte[0] === segmentKey.kind && limit === 16 && ++reads === 2) {
        store.beforeRead = () => Promise.resolve();
        await runMany(30, 1400, payload("x".repeat(30_000)), "other");
        await time.advance(5000);
      }
    };
    const { seen, ended } = listen(filter, position);
    expect(await ended).toMatchObject({ rejection: { reason: "PAWL_POSITION_TRIMMED" } });
    expect(kernel.info().log.anchor.sequence).toBeGreaterThan(seen.length);
    expect(seen.length).toBeGreaterThan(0);
    expect(seen).toEqual(seen.map((_, index) => index + 1));
  });
});

describe("on a disk", () => {
  let parent: string;
  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), "pawl-log-"));
  });
  afterEach(() => rm(parent, { recursive: true }));

  async function openFolder(logRetention: OpenKernelOptions["logRetention"]): Promise<void> {
    const { store: onDisk, secret } = await openDataFolder(join(parent, "store"), { create: true });
    const compact = { restFactor: 0, beginAgeMs: 20 };
    kernel = await openKernel({
      store: onDisk,
      secret,
      compact,
      ...(logRetention && { logRetention }),
    });
  }

  async function sizeOf(): Promise<number> {
    const db = join(parent, "store", "db");
    const sizes = (await readdir(db)).map(async (name) => (await stat(join(db, name))).size);
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  }

  it("the room of the log is given back once it is trimmed", async () => {
    await openFolder(undefined);
    const random = Buffer.from(crypto.getRandomValues(new Uint8Array(22_000))).toString("base64");
    // Shuffled, so that no two are packed into one.
    const input = (at: number) => payload(`${random.slice(at)}${random.slice(0, at)}`);
    for (let at = 0; at < 1500; at += 100) {
      const started = Array.from({ length: 100 }, (_, index) => {
        const runId = `r${at + index}`;
        const command = startRun(onePlan, { runId, input: input(at + index) });
        return kernel.ask(runOf(runId), command, localCaller, () => 0);
      });
      await Promise.all(started);
    }
    await kernel.close();
    const before = await sizeOf();
    await openFolder({ bytes: 0 });
    const { durableSequence } = kernel.info();
    while (kernel.info().log.anchor.sequence < durableSequence / 2) {
      const runId = `later-${kernel.info().durableSequence}`;
      await kernel.ask(runOf(runId), startRun(onePlan, { runId }), localCaller, () => 0);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    while (kernel.info().log.compact.waitingBytes > 0 || kernel.info().log.compact.rounds === 0) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await kernel.close();
    expect(before).toBeGreaterThan(80 * mib);
    // The histories are as long as the log was.
    expect(await sizeOf()).toBeLessThan(before - 20 * mib);
  }, 60_000);
});

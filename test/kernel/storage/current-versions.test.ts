import { VersionMode } from "@pawl/proto/v1/version_pb.js";
import type { Caller } from "@pawl/server/core/caller.js";
import { localCaller } from "@pawl/server/core/caller.js";
import type { Kernel } from "@pawl/server/kernel/kernel.js";
import type { SessionListener } from "@pawl/server/kernel/kernel-api.js";
import { verifyStore } from "@pawl/server/kernel/storage/verify-store.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { readMeta } from "@pawl/server/log/meta.js";
import { beforeEach, expect, test } from "vitest";
import { startRun } from "../../core/support/commands.js";
import { planOf } from "../../core/support/plans.js";
import { createMemoryStore, testFence, testPartition } from "../../support/kernel.js";
import { onePlan, runOf } from "./support/one-run.js";
import { openTrimming } from "./support/trimming-kernel.js";

const ann: Caller = { principal: "ann", roles: ["operator"], authenticated: true };
const namespace = "default";

let disk: MemoryDisk;

beforeEach(async () => {
  disk = new MemoryDisk();
  await createMemoryStore(disk);
});

const open = (): Promise<Kernel> => openTrimming(disk);

function set(kernel: Kernel, workflow: string, codeVersion: number, expectedVersion?: number) {
  const change = { namespace, workflow, codeVersion, expectedVersion };
  return kernel.changeCurrentVersion(change, ann);
}

async function versions(kernel: Kernel): Promise<string[]> {
  const all = await kernel.listCurrentVersions(0);
  return all.map(
    ({ workflow, codeVersion, version, principal }) =>
      `${workflow}@${codeVersion}, change ${version} by ${principal}`,
  );
}

/** Starts a run that follows the current version of workflow `w`, or is plain. */
async function begin(kernel: Kernel, runId: string, follows: boolean): Promise<string> {
  const plan = follows ? planOf({ only: { kind: "w@current" } }) : onePlan;
  const choice = follows ? { versionChoice: { mode: VersionMode.FOLLOW, orElse: 0 } } : {};
  return await kernel.ask(
    runOf(runId),
    startRun(plan, { runId, ...choice }),
    localCaller,
    (told) => (told.accepted ? (told.reply.existing ? "existing" : "new") : told.rejection.reason),
  );
}

/** Connects a worker of one version with a slot; the answer is the run that it gets. */
function serve(kernel: Kernel, codeVersion: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const listener: SessionListener = {
      outcome: () => undefined,
      prepare: () => undefined,
      release: () => undefined,
      offer: ({ task }, run) => resolve(`${run.runId} at ${run.tasks[task]?.codeVersion}`),
      cancel: () => undefined,
      lost: () => undefined,
      ended: () => undefined,
      superseded: () => undefined,
      fault: reject,
    };
    const kind = `w@${codeVersion}`;
    const hello = { sessionId: kind, worker: kind, namespace, serves: [{ kind, queue: "" }] };
    kernel
      .connectSession({ ...hello, holds: [] }, listener)
      .then((session) => session.addCredits(1), reject);
  });
}

const endings = {
  "in order": (kernel: Kernel) => kernel.close(),
  "by a power cut": async () => disk.powerCut(),
};

test.each(Object.entries(endings))(
  "they are there after a kernel went away %s, from the tail and from the row",
  async (_, end) => {
    const first = await open();
    await set(first, "w", 1);
    await set(first, "x", 4);
    await set(first, "w", 2);
    await end(first);
    const second = await open();
    expect(await versions(second)).toEqual(["w@2, change 2 by ann", "x@4, change 1 by ann"]);
    await set(second, "x", 0);
    // Its checkpoint takes the store's own run along, and the log behind it goes.
    await begin(second, "plain", false);
    await end(second);
    const third = await open();
    expect(await versions(third)).toEqual(["w@2, change 2 by ann", "x@0, change 2 by ann"]);
    await expect(set(third, "x", 5, 0)).rejects.toMatchObject({ code: "PAWL_STALE_VERSION" });
    expect(await set(third, "x", 5, 2)).toMatchObject({ entry: { version: 3 } });
    await third.close();
    const store = disk.open({ epoch: testFence.epoch });
    const findings: unknown[] = [];
    const meta = readMeta(store, testPartition);
    for await (const report of verifyStore(store, { partition: testPartition, meta })) {
      findings.push(report);
    }
    expect(
      JSON.stringify(findings, (_key, value) => (typeof value === "bigint" ? `${value}` : value)),
    ).not.toMatch(/[Ee]xpected/);
    await store.close();
  },
);

test.each(Object.entries(endings))(
  "a run that follows is ready after a kernel went away %s, for whoever serves what is current then",
  async (_, end) => {
    const first = await open();
    await set(first, "w", 1);
    expect(await begin(first, "r", true)).toBe("new");
    await end(first);
    const second = await open();
    await second.openWorkKnown;
    await set(second, "w", 2);
    const offered: string[] = [];
    void serve(second, 1).then((told) => offered.push(told));
    expect(await serve(second, 2)).toBe("r at 2");
    expect(await begin(second, "r", true)).toBe("existing");
    expect(offered).toEqual([]);
    await end(second);
    const third = await open();
    const seen = await third.view(runOf("r"), (run) => run.tasks[0]?.codeVersion);
    expect(seen).toBe(2);
    await third.close();
  },
);

test("a power cut before a change is durable leaves what was before, also for the starts that came after it", async () => {
  const kernel = await open();
  await set(kernel, "w", 1);
  disk.holdWrites = true;
  const told: string[] = [];
  const note = (what: string) => () => void told.push(what);
  set(kernel, "w", 2).then(note("set"), () => {});
  begin(kernel, "r", true).then(note("begun"), () => {});
  while (disk.heldWrites === 0) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  disk.powerCut();
  disk.holdWrites = false;
  const next = await open();
  expect(await versions(next)).toEqual(["w@1, change 1 by ann"]);
  await expect(next.view(runOf("r"), () => "there")).rejects.toMatchObject({
    code: "PAWL_RUN_NOT_FOUND",
  });
  expect(told).toEqual([]);
  await next.close();
});

test("five thousand workflows are the most", async () => {
  const kernel = await open();
  await Promise.all(Array.from({ length: 5000 }, (_, index) => set(kernel, `w${index}`, 1)));
  await expect(set(kernel, "one-more", 1)).rejects.toMatchObject({ code: "PAWL_INVALID_FIELD" });
  expect(await set(kernel, "w7", 2)).toMatchObject({ existing: false });
  expect(await set(kernel, "one-more", 0)).toMatchObject({ existing: true });
  await kernel.close();
});

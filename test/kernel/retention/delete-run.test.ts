import type { StartRun } from "@pawl/server/core/command.js";
import type { Run } from "@pawl/server/core/state.js";
import { Sweeper } from "@pawl/server/kernel/storage/sweeper.js";
import type { Fault, FaultPlan, StoreCall } from "@pawl/server/log/fault-plan.js";
import { describe, expect, it } from "vitest";
import {
  completeTask,
  deleteRun,
  inputWait,
  intend,
  leaseTask,
  observe,
  provideInput,
  sendSignal,
  startRun,
  suspend,
} from "../../core/support/commands.js";
import { MAIL_KEY } from "../../core/support/events.js";
import { fingerprint, payload } from "../../core/support/values.js";
import { MemoryKernel, testFence, testPartition } from "../../support/kernel.js";
import { HookedStore } from "../storage/support/hooked-store.js";
import { onePlan, runOf } from "../storage/support/one-run.js";
import { KeptKernel } from "./support/kept-kernel.js";

const target = runOf("r1");
const begin: StartRun = startRun(onePlan, { runId: "r1" });

/** Fails one write: it takes effect without a word, or not at all. */
class NthWrite implements FaultPlan {
  readonly #at: number;
  readonly #isLost: boolean;
  #writes = 0;

  constructor(at: number, isLost: boolean) {
    this.#at = at;
    this.#isLost = isLost;
  }

  /** True once it has failed. */
  get isOver(): boolean {
    return this.#writes >= this.#at;
  }

  before({ verb }: StoreCall): Fault {
    const isWrite = verb === "append" || verb === "putRows";
    this.#writes += isWrite ? 1 : 0;
    const fault = this.#isLost ? "unknown-lost" : "unknown-kept";
    return isWrite && this.#writes === this.#at ? fault : "ok";
  }
}

/** Fails one read of a page. */
class NthRead implements FaultPlan {
  readonly #at: number;
  #reads = 0;

  constructor(at: number) {
    this.#at = at;
  }

  /** True once it has failed. */
  get isOver(): boolean {
    return this.#reads >= this.#at;
  }

  before({ verb }: StoreCall): Fault {
    this.#reads += verb === "read" ? 1 : 0;
    return verb === "read" && this.#reads === this.#at ? "fail" : "ok";
  }
}

const living = runOf("living");
const beginLiving: StartRun = startRun(onePlan, { runId: "living" });

/** A run that waits for somebody's approval. */
async function waitingRun(kept: KeptKernel): Promise<void> {
  expect(await kept.reasonOf(living, beginLiving)).toBe("accepted");
  expect(await kept.reasonOf(living, leaseTask(0))).toBe("accepted");
  expect(await kept.reasonOf(living, suspend(1, { waits: [inputWait()] }))).toBe("accepted");
}

/** A run with an operation and a large step of history, that has ended. */
async function endedRun(kept: KeptKernel, runId = "r1", size = 10): Promise<void> {
  const run = runOf(runId);
  expect(await kept.reasonOf(run, startRun(onePlan, { runId }))).toBe("accepted");
  expect(await kept.reasonOf(run, leaseTask(0))).toBe("accepted");
  expect(await kept.reasonOf(run, intend(1, "i1"))).toBe("accepted");
  const operationKey = MAIL_KEY.replace("r1", runId);
  const seen = observe("i1", { case: "result", value: payload("ok") }, operationKey);
  expect(await kept.reasonOf(run, seen)).toBe("accepted");
  expect(await kept.reasonOf(run, completeTask(1, { output: payload("x".repeat(size)) }))).toBe(
    "accepted",
  );
}

/** Opens a kernel and lets it sweep. True when it was serving, and stopped for the fault. */
async function stopsAt(kept: KeptKernel, fault: NthRead): Promise<boolean> {
  const isOpen = await kept.open(fault).then(
    () => true,
    () => false,
  );
  if (!isOpen) {
    expect(fault.isOver).toBe(true);
    return false;
  }
  await kept.time.advance(10_000);
  const answer = fault.isOver ? "PAWL_UNAVAILABLE" : "existing";
  expect(await kept.reasonOf(living, beginLiving)).toBe(answer);
  return fault.isOver;
}

async function listed(kept: KeptKernel): Promise<string[]> {
  const filter = { namespace: "default", status: 0, workflow: "" };
  const page = kept.kernel.listRuns(filter, { size: 10, token: "" }, ({ runId }: Run) => runId);
  await kept.time.settle();
  return [...(await page).items];
}

async function refusalOf(reading: Promise<unknown>, kept: KeptKernel): Promise<string> {
  const answer = reading.then(
    () => "given",
    (error: { readonly code?: string }) => error.code ?? `${error}`,
  );
  await kept.time.settle();
  return await answer;
}

describe("a run that is deleted", () => {
  it.each(["before", "after"])("is seen by nobody %s its rows are removed", async (when) => {
    const kept = await KeptKernel.create();
    await endedRun(kept);
    await endedRun(kept, "r2");
    expect(await kept.reasonOf(target, deleteRun())).toBe("accepted");
    if (when === "after") {
      await kept.time.advance(10_000);
    }
    expect(await listed(kept)).toEqual(["r2"]);
    expect(await kept.reasonOf(target, sendSignal({ name: "go" }))).toBe("PAWL_RUN_DELETED");
    expect(await kept.reasonOf(target, completeTask(1))).toBe("PAWL_RUN_DELETED");
    expect(await kept.reasonOf(target, begin)).toBe("PAWL_RUN_DELETED");
    expect(await kept.reasonOf(target, deleteRun())).toBe("existing");
    const other = { ...begin, fingerprint: fingerprint(2) };
    expect(await kept.reasonOf(target, other)).toBe("PAWL_FINGERPRINT_CONFLICT");
    const { kernel } = kept;
    const reads = [
      () => kernel.view(target, () => undefined),
      () => kernel.history(target, 1)[Symbol.asyncIterator]().next(),
      () => kernel.readBlob(target, new Uint8Array(32))[Symbol.asyncIterator]().next(),
      () => kernel.admitPayload(target, payload("y".repeat(40_000)), { mayBegin: true }),
    ];
    for (const read of reads) {
      expect(await refusalOf(read(), kept)).toBe("PAWL_RUN_DELETED");
    }
    await kept.close();
    expect(await kept.problems()).toEqual([]);
  });

  it("leaves one tombstone and nothing else, and so it is after a restart", async () => {
    const kept = await KeptKernel.create();
    await endedRun(kept);
    expect(await kept.reasonOf(target, deleteRun())).toBe("accepted");
    await kept.time.advance(10_000);
    await kept.close();
    expect(await kept.rows()).toEqual({ tombstone: 1 });
    expect(await kept.problems()).toEqual([]);
    await kept.open();
    expect(await kept.reasonOf(target, begin)).toBe("PAWL_RUN_DELETED");
    expect(await kept.reasonOf(runOf("r3"), startRun(onePlan, { runId: "r3" }))).toBe("accepted");
  });

  it("is deleted whole or not at all, whenever the process is killed", async () => {
    for (let write = 1; ; write++) {
      const kept = await KeptKernel.create();
      await endedRun(kept, "r1", 30_000);
      await endedRun(kept, "r2");
      await kept.time.advance(10_000);
      await kept.close();
      const faults = new NthWrite(Math.ceil(write / 2), write % 2 === 0);
      await kept.open(faults);
      const asked = kept.ask(target, deleteRun()).catch(() => undefined);
      await kept.time.advance(10_000);
      await asked;
      const isThrough = !faults.isOver;
      kept.kill();
      await kept.open();
      await kept.time.advance(10_000);
      const isThere = (await kept.reasonOf(target, begin)) === "existing";
      const list = await listed(kept);
      await kept.close();
      expect(await kept.problems(), `write ${write}`).toEqual([]);
      expect(list).toEqual(isThere ? ["r2", "r1"] : ["r2"]);
      const rows = await kept.rows();
      expect(rows, `write ${write}`).toMatchObject({ run: isThere ? 2 : 1, name: isThere ? 2 : 1 });
      expect(rows["sweep"]).toBeUndefined();
      if (isThrough) {
        return;
      }
    }
  });
});

describe("a tombstone whose time is over", () => {
  it("lets the id begin again as the next incarnation, and no lease of the old one counts", async () => {
    const kept = await KeptKernel.create();
    await kept.keep({ tombstonesMs: 60_000 });
    await endedRun(kept);
    await kept.ask(target, deleteRun());
    await kept.time.advance(59_000);
    expect(await kept.reasonOf(target, begin)).toBe("PAWL_RUN_DELETED");
    await kept.time.advance(2_000);
    const started = await kept.ask(target, begin);
    expect(started).toMatchObject({ accepted: true, run: { incarnation: 2 } });
    await kept.ask(target, leaseTask(0));
    expect(await kept.reasonOf(target, completeTask(1))).toBe("PAWL_LEASE_LOST");
    expect(await kept.reasonOf(target, completeTask(2))).toBe("accepted");
    await kept.close();
    expect(await kept.problems()).toEqual([]);
  });
});

describe("a store that fails while it is swept", () => {
  it("is never taken for one that has nothing: the kernel stops, and the next one goes on", async () => {
    let stopped = 0;
    for (let read = 1; ; read++) {
      const kept = await KeptKernel.create();
      await waitingRun(kept);
      await endedRun(kept);
      await kept.ask(target, deleteRun());
      await kept.time.advance(1_050);
      kept.kill();
      expect(await kept.rows(), `read ${read}`).toMatchObject({ sweep: 1, tombstone: 1, run: 2 });
      const fault = new NthRead(read);
      stopped += (await stopsAt(kept, fault)) ? 1 : 0;
      kept.kill();
      await kept.open();
      await kept.time.advance(10_000);
      expect(await kept.reasonOf(target, begin)).toBe("PAWL_RUN_DELETED");
      expect(await kept.reasonOf(living, provideInput())).toBe("accepted");
      await kept.close();
      const rows = await kept.rows();
      expect(rows, `read ${read}`).toMatchObject({ tombstone: 1, run: 1, name: 1 });
      expect(rows["sweep"], `read ${read}`).toBeUndefined();
      expect(await kept.problems(), `read ${read}`).toEqual([]);
      if (!fault.isOver) {
        break;
      }
    }
    // Those of the sweep among them: a read of each kind of rows, and of what is to be swept.
    expect(stopped).toBeGreaterThan(10);
  });

  it("ends the kernel, also when nobody else sees the failure", async () => {
    const memory = await MemoryKernel.create();
    const { loop, store, recovery } = memory.kernel;
    const failing = new HookedStore(store);
    const gone = new Error("disk gone");
    failing.beforeRead = () => Promise.reject(gone);
    const sweeper = new Sweeper({
      ...{ store: failing, fence: testFence, partition: testPartition, timers: memory.time, loop },
      ...{ storeRun: recovery.storeRun, horizonSequence: () => loop.durableSequence },
    });
    await sweeper.sweep();
    expect(memory.kernel.failure).toBe(gone);
  });
});

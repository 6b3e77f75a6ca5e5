import { localCaller } from "@pawl/server/core/caller.js";
import { describe, expect, it } from "vitest";
import {
  completeTask,
  deleteRun,
  failTask,
  intend,
  leaseTask,
  observeResult,
  startRun,
} from "../../core/support/commands.js";
import { onePlan, runOf } from "../storage/support/one-run.js";
import { KeptKernel } from "./support/kept-kernel.js";

const second = 1000;

async function begin(kept: KeptKernel, runId: string): Promise<void> {
  const run = runOf(runId);
  expect(await kept.reasonOf(run, startRun(onePlan, { runId }))).toBe("accepted");
  expect(await kept.reasonOf(run, leaseTask(0))).toBe("accepted");
}

async function end(kept: KeptKernel, runId: string): Promise<void> {
  await begin(kept, runId);
  expect(await kept.reasonOf(runOf(runId), completeTask(1))).toBe("accepted");
}

/** What another start of each of these ids is answered. */
async function startsOf(kept: KeptKernel, ...runIds: string[]): Promise<string[]> {
  const answers: string[] = [];
  for (const runId of runIds) {
    answers.push(await kept.reasonOf(runOf(runId), startRun(onePlan, { runId })));
  }
  return answers;
}

describe("retention", () => {
  it("keeps everything for ever until somebody says otherwise", async () => {
    const kept = await KeptKernel.create();
    await end(kept, "r1");
    await kept.time.advance(3_600 * second);
    expect(await startsOf(kept, "r1")).toEqual(["existing"]);
  });

  it("deletes what has ended so long ago, each outcome by its own time, also what ended before it was set", async () => {
    const kept = await KeptKernel.create();
    await end(kept, "completed");
    await begin(kept, "failed");
    expect(await kept.reasonOf(runOf("failed"), failTask(1))).toBe("accepted");
    await begin(kept, "open");
    await kept.keep({ completedMs: second, failedMs: 3_600 * second });
    await kept.time.advance(120 * second);
    expect(await startsOf(kept, "completed", "failed", "open")).toEqual([
      "PAWL_RUN_DELETED",
      "existing",
      "existing",
    ]);
    await kept.close();
    expect(await kept.problems()).toEqual([]);
  });

  it("is durable, and goes on after a kill", async () => {
    const kept = await KeptKernel.create();
    await end(kept, "r1");
    await kept.keep({ completedMs: 600 * second });
    await kept.time.advance(5 * second);
    kept.kill();
    await kept.open();
    await kept.time.advance(700 * second);
    expect(await startsOf(kept, "r1")).toEqual(["PAWL_RUN_DELETED"]);
    await kept.close();
    expect(await kept.rows()).toEqual({ tombstone: 1 });
  });

  it("stops at the legal hold of a run, and of the whole namespace", async () => {
    const kept = await KeptKernel.create();
    await end(kept, "held");
    await end(kept, "free");
    const hold = { expectedVersion: undefined, held: true, reason: "case 7" } as const;
    expect(await kept.reasonOf(runOf("held"), { kind: "ChangeLegalHold", ...hold })).toBe(
      "accepted",
    );
    expect(await kept.reasonOf(runOf("held"), deleteRun())).toBe("PAWL_LEGAL_HOLD");
    const holding = kept.kernel.changeRetention({ namespace: "default", ...hold }, localCaller);
    await kept.time.settle();
    expect(await holding).toMatchObject({ existing: false, entry: { hold: { reason: "case 7" } } });
    await kept.keep({ completedMs: 0 });
    await kept.time.advance(180 * second);
    expect(await startsOf(kept, "held", "free")).toEqual(["existing", "existing"]);
    const release = { namespace: "default", expectedVersion: undefined, held: false };
    const released = kept.kernel.changeRetention(release, localCaller);
    await kept.time.settle();
    await released;
    await kept.time.advance(180 * second);
    expect(await startsOf(kept, "held", "free")).toEqual(["existing", "PAWL_RUN_DELETED"]);
  });
});

describe("what retention removes", () => {
  it("removes settled operations of scope NAMESPACE, whose keys are not called again while their tombstones stand", async () => {
    const kept = await KeptKernel.create();
    const operationKey = "namespace/default/mail/invoice-4711";
    const target = { kind: "ledger", namespace: "default", operationKey } as const;
    const call = intend(0, "i1", { lease: undefined, scope: 3, key: "invoice-4711" });
    expect(await kept.reasonOf(target, call)).toBe("accepted");
    await kept.keep({ operationsMs: second, tombstonesMs: 600 * second });
    await kept.time.advance(120 * second);
    expect(await kept.reasonOf(target, { ...call, intentId: "i2" })).not.toBe(
      "PAWL_OPERATION_DELETED",
    );
    expect(await kept.reasonOf(target, { ...observeResult("i1"), operationKey })).toBe("accepted");
    await kept.time.advance(120 * second);
    expect(await kept.reasonOf(target, { ...call, intentId: "i3" })).toBe("PAWL_OPERATION_DELETED");
    const other = { ...call, intentId: "i4", fingerprint: new Uint8Array(32).fill(9) };
    expect(await kept.reasonOf(target, other)).toBe("PAWL_FINGERPRINT_CONFLICT");
    await kept.time.advance(700 * second);
    expect(await kept.reasonOf(target, { ...call, intentId: "i5" })).toBe("accepted");
    await kept.close();
    expect(await kept.problems()).toEqual([]);
  });

  it("removes hundreds of short runs without a trace but their tombstones", async () => {
    const kept = await KeptKernel.create();
    for (let number = 0; number < 700; number++) {
      const runId = `r${number}`;
      const asked = [startRun(onePlan, { runId }), leaseTask(0), completeTask(1)].map((command) =>
        kept.kernel.ask(runOf(runId), command, localCaller, ({ accepted }) => accepted),
      );
      await kept.time.settle();
      expect(await Promise.all(asked)).toEqual([true, true, true]);
    }
    await kept.keep({ completedMs: second });
    await kept.time.advance(300 * second);
    await kept.close();
    expect(await kept.rows()).toEqual({ tombstone: 700 });
    expect(await kept.problems()).toEqual([]);
  });
});

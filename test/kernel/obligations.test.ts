import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { Command } from "@pawl/server/core/command.js";
import { limits } from "@pawl/server/core/limits.js";
import type { Run } from "@pawl/server/core/state.js";
import { obligationStatusName } from "@pawl/server/core/transitions.js";
import type { Outcome } from "@pawl/server/kernel/outcome.js";
import { describe, expect, it } from "vitest";
import {
  cancelRun,
  completeTask,
  makeObligation,
  pauseRun,
  resumeRun,
  sendSignal,
  settleObligation,
  startRun,
  terminateRun,
} from "../core/support/commands.js";
import { payload } from "../core/support/values.js";
import { createMemoryStore, MemoryKernel } from "../support/kernel.js";
import { finish, lease, onePlan, runOf, segmentsOf, start } from "./storage/support/one-run.js";

const { DELIVERED, FULL } = ObligationStatus;

/** Nothing is evicted, checkpointed or trimmed unless a test says so. */
async function kernelWith(...runs: readonly string[]): Promise<MemoryKernel> {
  const memory = await MemoryKernel.create();
  for (const runId of runs) {
    await start(memory, runId);
    await lease(memory, runId);
  }
  return memory;
}

async function ask(memory: MemoryKernel, runId: string, command: Command): Promise<Outcome> {
  const asked = memory.kernel.ask(runOf(runId), command);
  await memory.time.settle();
  return await asked;
}

/** Has `r1` send `go` to `r2` unless the parts say otherwise; the answer is where that stands when it is durable. */
async function tell(
  memory: MemoryKernel,
  parts: Parameters<typeof makeObligation>[1] = {},
  from = "r1",
): Promise<string> {
  return standing(await ask(memory, from, makeObligation(1, parts)));
}

function standing(outcome: Outcome): string {
  if (!outcome.accepted) {
    return outcome.rejection.reason;
  }
  const { obligation = -1 } = outcome.reply;
  const status = outcome.run.obligations[obligation]?.status ?? ObligationStatus.UNSPECIFIED;
  return obligationStatusName(status);
}

async function view(memory: MemoryKernel, runId: string): Promise<Run> {
  for (;;) {
    const found = memory.kernel.residency.findRun("default", runId);
    if (found instanceof Promise) {
      await memory.time.settle();
      await found;
    } else if (found === undefined) {
      throw new Error(`no run ${runId}`);
    } else {
      return found.run;
    }
  }
}

const statuses = ({ obligations }: Run): ObligationStatus[] =>
  obligations.map(({ status }) => status);

const cancelOrder = { order: { case: "cancel", reason: "enough" } } as const;

describe("a run that owes another one something", () => {
  it("has it delivered and answered in the commit that records it", async () => {
    const memory = await kernelWith("r1", "r2");
    const before = (await segmentsOf(memory.kernel.store)).length;
    expect(await tell(memory)).toBe("DELIVERED");
    const receiver = await view(memory, "r2");
    expect(receiver.signals).toMatchObject([
      { name: "go", payload: payload(1), from: { obligation: 0, runId: "r1" }, principal: "local" },
    ]);
    const segments = (await segmentsOf(memory.kernel.store)).slice(before);
    expect(
      segments.map((segment) => [...segment.slices()].map(({ runNumber }) => runNumber)),
    ).toEqual([[1, 2]]);
    await memory.close();
  });

  it("asks another run to stop", async () => {
    const memory = await kernelWith("r1", "r2");
    expect(await tell(memory, cancelOrder)).toBe("DELIVERED");
    const receiver = await view(memory, "r2");
    expect(receiver).toMatchObject({ cancelReason: "enough" });
    expect(receiver.cancelRequestedAtMs).toBeGreaterThan(0);
    // A second one, also of another task, changes nothing.
    expect(await tell(memory, { ...cancelOrder, name: "again" })).toBe("DELIVERED");
    await memory.close();
  });

  it("may send to itself", async () => {
    const memory = await kernelWith("r1");
    expect(await tell(memory, { runId: "r1" })).toBe("DELIVERED");
    const run = await view(memory, "r1");
    expect(run.signals).toMatchObject([{ name: "go", from: { runId: "r1" } }]);
    expect(await tell(memory, { ...cancelOrder, runId: "r1" })).toBe("DELIVERED");
    expect(run.cancelRequestedAtMs).toBeGreaterThan(0);
    await memory.close();
  });

  it("is told that the other has ended, or is not there, and never reaches another namespace", async () => {
    const memory = await kernelWith("r1");
    await finish(memory, "r2");
    expect(await tell(memory)).toBe("RUN_OVER");
    expect(await tell(memory, cancelOrder)).toBe("RUN_OVER");
    expect(await tell(memory, { key: "none", runId: "nobody" })).toBe("NOT_FOUND");
    const elsewhere = memory.kernel.ask(
      { kind: "run", namespace: "elsewhere", runId: "abroad" },
      startRun(onePlan, { namespace: "elsewhere", runId: "abroad" }),
    );
    await memory.time.settle();
    await elsewhere;
    expect(await tell(memory, { key: "abroad", runId: "abroad" })).toBe("NOT_FOUND");
    await memory.close();
  });

  it("is told that the other has no room, for good", async () => {
    const memory = await kernelWith("r1", "r2");
    for (let number = 0; number < limits.keptSignalsMax; number++) {
      const outcome = await ask(memory, "r2", sendSignal({ requestId: `q${number}` }));
      expect(outcome.accepted).toBe(true);
    }
    expect(await tell(memory)).toBe("FULL");
    // A request to stop needs no room.
    expect(await tell(memory, cancelOrder)).toBe("DELIVERED");
    await memory.close();
  });

  it("sends nothing twice, however often it is asked", async () => {
    const memory = await kernelWith("r1", "r2");
    await tell(memory);
    const { kernel } = memory;
    // As if the receiver's events were there and the sender's were not: it is known by the sender's number and its own.
    const from = { run: 1, obligation: 0, runId: "r1" };
    const again = await ask(memory, "r2", sendSignal({ requestId: "", from }));
    expect(again).toMatchObject({ accepted: true, reply: { existing: true } });
    expect(await tell(memory)).toBe("DELIVERED");
    expect((await view(memory, "r2")).signals).toHaveLength(1);
    expect(kernel.loop.obligations.heldUp).toBe(0);
    await memory.close();
  });
});

describe("a paused run", () => {
  it("keeps what it owes, and sends it when it goes on", async () => {
    const memory = await kernelWith("r1", "r2");
    await ask(memory, "r1", pauseRun());
    expect(await tell(memory)).toBe("OPEN");
    await memory.time.advance(60_000);
    expect((await view(memory, "r2")).signals).toHaveLength(0);
    await ask(memory, "r1", resumeRun());
    expect((await view(memory, "r2")).signals).toHaveLength(1);
    expect(statuses(await view(memory, "r1"))).toEqual([DELIVERED]);
    await memory.close();
  });

  it.each([
    ["terminated", terminateRun()],
    ["cancelled", cancelRun()],
  ])("sends what it kept while it was paused also when it is %s", async (_how, command) => {
    const memory = await kernelWith("r1", "r2");
    await ask(memory, "r1", pauseRun());
    await tell(memory);
    await ask(memory, "r1", command);
    expect((await view(memory, "r2")).signals).toHaveLength(1);
    expect(statuses(await view(memory, "r1"))).toEqual([DELIVERED]);
    await memory.close();
  });

  it("takes what it is sent, and keeps it", async () => {
    const memory = await kernelWith("r1", "r2");
    await ask(memory, "r2", pauseRun());
    expect(await tell(memory)).toBe("DELIVERED");
    const receiver = await view(memory, "r2");
    expect(receiver).toMatchObject({ status: RunStatus.PAUSED, keptSignalCount: 1 });
    await memory.close();
  });
});

describe("where the other run is not in memory", () => {
  /** Both runs are in rows alone, and leave memory at the first chance. */
  async function stored(): Promise<MemoryKernel> {
    const memory = new MemoryKernel({ residentBytesMax: 1 });
    await createMemoryStore(memory.disk);
    await memory.open();
    for (const runId of ["r1", "r2", "r3"]) {
      await start(memory, runId);
      await lease(memory, runId);
    }
    await memory.close();
    await memory.open();
    await memory.time.advance(1000);
    await memory.kernel.ready;
    return memory;
  }

  it("it is read, and all three events are recorded", async () => {
    const memory = await stored();
    expect(memory.kernel.residency.resident(2)).toBeUndefined();
    await tell(memory);
    await memory.time.settle();
    expect((await view(memory, "r2")).signals).toHaveLength(1);
    expect(statuses(await view(memory, "r1"))).toEqual([DELIVERED]);
    await memory.close();
  });

  it("what one run sends another comes in order, also where that is read piece by piece", async () => {
    const memory = await stored();
    // So many parts lie in rows of their own, and are read in pages.
    for (let number = 0; number < 70; number++) {
      await ask(memory, "r2", sendSignal({ name: "early", requestId: `q${number}` }));
    }
    await memory.close();
    await memory.open();
    await memory.time.advance(1000);
    await memory.kernel.ready;
    const order = (signal: string): Parameters<typeof makeObligation>[1] => ({
      name: signal,
      order: { case: "signal", signal, payload: undefined },
    });
    const told = ["a", "b", "c"].map((name) =>
      memory.kernel.ask(runOf("r1"), makeObligation(1, order(name))),
    );
    await memory.time.settle();
    const first = await Promise.all(told);
    expect(first.map(({ accepted }) => accepted)).toEqual([true, true, true]);
    await memory.time.settle();
    expect((await view(memory, "r2")).signals.slice(70).map(({ name }) => name)).toEqual([
      ...["a", "b", "c"],
    ]);
    expect(statuses(await view(memory, "r1"))).toEqual([DELIVERED, DELIVERED, DELIVERED]);
    await memory.close();
  });
});

describe("after the power was cut", () => {
  it("before the commit nothing is owed, and after it everything is delivered", async () => {
    const memory = await kernelWith("r1", "r2");
    const asked = memory.kernel.ask(runOf("r1"), makeObligation(1));
    asked.catch(() => undefined);
    memory.powerCut();
    await memory.open();
    await memory.time.settle();
    expect((await view(memory, "r2")).signals).toHaveLength(0);
    expect(statuses(await view(memory, "r1"))).toEqual([]);
    await tell(memory);
    memory.powerCut();
    await memory.open();
    await memory.time.settle();
    expect((await view(memory, "r2")).signals).toHaveLength(1);
    expect(statuses(await view(memory, "r1"))).toEqual([DELIVERED]);
  });

  it("what a run owes is sent by the next kernel, from the log and from rows, also when the run has ended", async () => {
    for (const isStored of [false, true]) {
      const memory = await kernelWith("r1", "r2");
      await ask(memory, "r1", pauseRun());
      expect(await tell(memory)).toBe("OPEN");
      await ask(memory, "r1", completeTask(1));
      expect((await view(memory, "r1")).status).toBe(RunStatus.COMPLETED);
      const sent = await view(memory, "r1");
      // The run has ended, so nothing holds it back any more.
      expect(statuses(sent)).toEqual([DELIVERED]);
      if (isStored) {
        await memory.close();
      } else {
        memory.powerCut();
      }
      await memory.open();
      await memory.time.advance(1000);
      expect((await view(memory, "r2")).signals).toHaveLength(1);
      expect(statuses(await view(memory, "r1"))).toEqual([DELIVERED]);
    }
  });

  it("a start finds whoever owes something by rows, without being asked", async () => {
    const memory = await kernelWith("r1", "r2");
    await ask(memory, "r1", pauseRun());
    await tell(memory);
    await memory.close();
    await memory.open();
    await memory.time.advance(1000);
    // It is read for what it owes; still paused, it keeps it.
    expect(memory.kernel.residency.resident(1)?.run.openObligations.size).toBe(1);
    await ask(memory, "r1", resumeRun());
    expect((await view(memory, "r2")).signals).toHaveLength(1);
    await memory.close();
  });
});

it("a task that waits for the answer goes on when the sender may send", async () => {
  const memory = await kernelWith("r1", "r2");
  await ask(memory, "r1", pauseRun());
  await tell(memory);
  const subject = { case: "obligation", obligation: 0 } as const;
  await ask(memory, "r1", {
    kind: "SuspendTask",
    task: 0,
    leaseVersion: 1,
    seenThrough: 0,
    waits: [{ name: "answer", key: undefined, subject }],
    progress: undefined,
  });
  expect((await view(memory, "r1")).tasks[0]?.status).toBe(TaskStatus.SUSPENDED);
  await ask(memory, "r1", resumeRun());
  const run = await view(memory, "r1");
  expect(run.tasks[0]?.status).toBe(TaskStatus.READY);
  expect(run.waits[0]?.ended?.outcome).toEqual({ case: "obligation", value: { obligation: 0 } });
  await memory.close();
});

it("a settled obligation is settled once, also when the kernel asks twice", async () => {
  const memory = await kernelWith("r1", "r2");
  await tell(memory);
  const outcome = await ask(memory, "r1", settleObligation({ status: FULL }));
  expect(outcome).toMatchObject({ accepted: true, reply: { existing: true } });
  expect(statuses(await view(memory, "r1"))).toEqual([DELIVERED]);
  await memory.close();
});

import { ObligationStatus, ParentClose } from "@pawl/proto/v1/obligation_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { Command } from "@pawl/server/core/command.js";
import type { Run } from "@pawl/server/core/state.js";
import type { Outcome } from "@pawl/server/kernel/outcome.js";
import { describe, expect, it } from "vitest";
import {
  cancelRun,
  completeTask,
  leaseTask,
  pauseRun,
  resumeRun,
  sendSignal,
  startChild,
} from "../core/support/commands.js";
import { payload } from "../core/support/values.js";
import { MemoryKernel } from "../support/kernel.js";
import { lease, runOf, segmentsOf, start } from "./storage/support/one-run.js";

const childId = "r1/1/only/part";
const { DELIVERED, EXISTS, OPEN } = ObligationStatus;

async function ask(memory: MemoryKernel, runId: string, command: Command): Promise<Outcome> {
  const asked = memory.kernel.ask(runOf(runId), command);
  await memory.time.settle();
  const outcome = await asked;
  expect(outcome).toMatchObject({ accepted: true });
  return outcome;
}

async function view(memory: MemoryKernel, runId: string): Promise<Run | undefined> {
  for (;;) {
    const found = memory.kernel.residency.findRun("default", runId);
    if (!(found instanceof Promise)) {
      return found?.run;
    }
    await memory.time.settle();
    await found;
  }
}

/** A parent `r1` whose task is held, and has started a child. */
async function family(parentClose?: ParentClose): Promise<MemoryKernel> {
  const memory = await MemoryKernel.create();
  await start(memory, "r1");
  await lease(memory, "r1");
  await ask(memory, "r1", startChild(1, parentClose));
  return memory;
}

async function endChild(memory: MemoryKernel): Promise<void> {
  await ask(memory, childId, leaseTask(0));
  await ask(memory, childId, completeTask(1, { output: payload(9) }));
}

describe("a child", () => {
  it("begins in the commit that records it, and is told of in the one in which it ends", async () => {
    const memory = await family();
    const told = async (): Promise<number[] | undefined> => {
      const last = (await segmentsOf(memory.kernel.store)).at(-1);
      return last === undefined ? undefined : [...last.slices()].map(({ runNumber }) => runNumber);
    };
    expect(await told()).toEqual([1, 2]);
    expect(await view(memory, childId)).toMatchObject({
      ...{ workflow: "w", input: payload(1), principal: "local" },
      parent: { run: 1, obligation: 0, runId: "r1" },
    });
    await endChild(memory);
    expect(await told()).toEqual([2, 1]);
    const parent = await view(memory, "r1");
    expect(parent?.obligations[0]).toMatchObject({
      status: DELIVERED,
      ended: { status: RunStatus.COMPLETED, output: payload(9) },
    });
    await memory.close();
  });

  it("is found again by a parent that the power was cut from, and its end by one that was not in memory", async () => {
    const memory = await family();
    memory.powerCut();
    await memory.open();
    await memory.time.settle();
    expect((await view(memory, "r1"))?.obligations[0]?.status).toBe(DELIVERED);
    await ask(memory, "r1", startChild(1));
    await memory.close();
    await memory.open();
    await memory.time.advance(1000);
    await endChild(memory);
    await memory.time.settle();
    const parent = await view(memory, "r1");
    expect(parent?.obligations).toHaveLength(1);
    expect(parent?.obligations[0]?.ended).toMatchObject({ status: RunStatus.COMPLETED });
    await memory.close();
  });

  it("has its end kept by a parent so large that its parts lie in rows of their own", async () => {
    const memory = await family();
    for (let number = 0; number < 70; number++) {
      await ask(memory, "r1", sendSignal({ requestId: `q${number}` }));
    }
    await memory.time.advance(5_000);
    await endChild(memory);
    await memory.close();
    await memory.open();
    await memory.time.advance(1000);
    expect((await view(memory, "r1"))?.obligations[0]?.ended).toMatchObject({
      ...{ status: RunStatus.COMPLETED, output: payload(9) },
    });
    await memory.close();
  });

  it("of a paused parent begins when that goes on", async () => {
    const memory = await MemoryKernel.create();
    await start(memory, "r1");
    await lease(memory, "r1");
    await ask(memory, "r1", pauseRun());
    await ask(memory, "r1", startChild(1));
    expect(await view(memory, childId)).toBeUndefined();
    expect((await view(memory, "r1"))?.obligations[0]?.status).toBe(OPEN);
    await ask(memory, "r1", resumeRun());
    expect((await view(memory, childId))?.status).toBe(RunStatus.RUNNING);
    await memory.close();
  });

  it("is not begun where another run has its id, which is left alone", async () => {
    const memory = await MemoryKernel.create();
    await start(memory, childId);
    await start(memory, "r1");
    await lease(memory, "r1");
    await ask(memory, "r1", startChild(1));
    expect((await view(memory, "r1"))?.obligations[0]?.status).toBe(EXISTS);
    await ask(memory, "r1", completeTask(1));
    expect((await view(memory, childId))?.status).toBe(RunStatus.RUNNING);
    await memory.close();
  });
});

describe("a parent that ends", () => {
  it.each([
    ["cancels", ParentClose.CANCEL, RunStatus.CANCELLED],
    ["terminates", ParentClose.TERMINATE, RunStatus.TERMINATED],
    ["leaves alone", ParentClose.DETACH, RunStatus.RUNNING],
  ])("%s its child, in the same commit", async (_how, policy, status) => {
    const memory = await family(policy);
    await ask(memory, "r1", completeTask(1));
    expect((await view(memory, "r1"))?.status).toBe(RunStatus.COMPLETED);
    expect((await view(memory, childId))?.status).toBe(status);
    await memory.close();
  });

  it("takes with it the children of its children", async () => {
    const memory = await family();
    await ask(memory, childId, leaseTask(0));
    await ask(memory, childId, startChild(1));
    const grandchildId = "r1%2F1%2Fonly%2Fpart/1/only/part";
    expect((await view(memory, grandchildId))?.status).toBe(RunStatus.RUNNING);
    await ask(memory, "r1", completeTask(1));
    // What the child's own worker holds is asked to stop first.
    expect(await view(memory, childId)).toMatchObject({ cancelReason: "Its parent has ended." });
    await ask(memory, childId, completeTask(1));
    expect((await view(memory, grandchildId))?.status).toBe(RunStatus.CANCELLED);
    await memory.close();
  });

  it("ends its children also when nobody is at work in it", async () => {
    const memory = await family();
    await ask(memory, "r1", cancelRun());
    await ask(memory, "r1", { ...completeTask(1) });
    expect((await view(memory, childId))?.status).toBe(RunStatus.CANCELLED);
    await memory.close();
  });
});

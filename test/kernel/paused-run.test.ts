import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { Command } from "@pawl/server/core/command.js";
import type { SessionListener, WorkerSession } from "@pawl/server/kernel/kernel-api.js";
import { Sessions } from "@pawl/server/kernel/sessions.js";
import { expect, test } from "vitest";
import { cancelRun, pauseRun, resumeRun } from "../core/support/commands.js";
import { planOf } from "../core/support/plans.js";
import { MemoryKernel } from "../support/kernel.js";
import { runOf, start } from "./storage/support/one-run.js";

const timedPlan = planOf({ only: { scheduleToStartMs: 60_000 } });

interface Told {
  readonly session: WorkerSession;
  readonly offers: string[];
  readonly lost: string[];
  readonly handles: number[];
}

/** A worker that serves everything, with room for `credits` tasks. */
async function connect(memory: MemoryKernel, credits: number): Promise<Told> {
  const offers: string[] = [];
  const lost: string[] = [];
  const handles: number[] = [];
  const listener: SessionListener = {
    outcome: () => undefined,
    prepare: () => undefined,
    release: () => undefined,
    offer: (lease, run) => {
      offers.push(`${run.runId} ${lease.leaseVersion}`);
      handles.push(lease.handle);
    },
    cancel: () => undefined,
    ended: () => undefined,
    superseded: () => undefined,
    fault: () => undefined,
    lost: (_handle, cause) => lost.push(cause),
  };
  const hello = {
    sessionId: "s1",
    worker: "w1",
    namespace: "default",
    serves: [{ kind: "work", queue: "" }],
    holds: [],
  };
  const session = await new Sessions(memory.kernel.loop).connect(hello, listener);
  session.addCredits(credits);
  await memory.time.settle();
  return { session, offers, lost, handles };
}

async function ask(memory: MemoryKernel, runId: string, command: Command): Promise<void> {
  const asked = memory.kernel.ask(runOf(runId), command);
  await memory.time.settle();
  expect(await asked).toMatchObject({ accepted: true });
}

test("a pause withdraws the offer that no worker has taken, and lets the taken one run", async () => {
  const memory = await MemoryKernel.create();
  for (const runId of ["taken", "offered"]) await start(memory, runId);
  const worker = await connect(memory, 2);
  expect(worker.offers).toEqual(["taken 1", "offered 1"]);
  worker.session.acknowledge(worker.handles[0] ?? 0);
  for (const runId of ["taken", "offered"]) await ask(memory, runId, pauseRun());
  expect(worker.lost).toEqual(["withdrawn"]);
  const taskOf = (runId: string): unknown => memory.kernel.loop.find(runOf(runId));
  expect(taskOf("taken")).toMatchObject({ run: { tasks: [{ status: TaskStatus.LEASED }] } });
  expect(taskOf("offered")).toMatchObject({
    run: {
      tasks: [
        {
          status: TaskStatus.READY,
          usedAttempts: 0,
          leaseEndReason: LeaseEndReason.WITHDRAWN,
        },
      ],
    },
  });
  worker.session.addCredits(1);
  await memory.time.advance(20_000);
  expect(worker.offers).toHaveLength(2);
  await ask(memory, "offered", resumeRun());
  expect(worker.offers).toEqual(["taken 1", "offered 1", "offered 2"]);
  await memory.close();
});

test("a paused run stays paused over a restart without being read, and goes on when it is resumed", async () => {
  const memory = await MemoryKernel.create();
  for (const runId of ["r1", "r2"]) await start(memory, runId, timedPlan);
  await ask(memory, "r1", pauseRun());
  await memory.close();

  await memory.open();
  const { kernel } = memory;
  await kernel.ready;
  expect(kernel.residency.size).toBe(0);
  expect(kernel.loop.work.armedDeadlines).toBe(1);
  const worker = await connect(memory, 1);
  expect(worker.offers).toEqual(["r2 1"]);
  await memory.time.advance(120_000);
  expect(worker.offers).toEqual(["r2 1"]);
  expect(await kernel.load(1)).toMatchObject({
    run: { runId: "r1", status: RunStatus.PAUSED, pause: { reason: "look" } },
  });
  await ask(memory, "r1", resumeRun());
  await memory.time.advance(100);
  // Its schedule-to-start was over long before: that is due now.
  expect(await kernel.load(1)).toMatchObject({
    run: { status: RunStatus.FAILED, tasks: [{ failure: { code: "PAWL_NOT_STARTED_IN_TIME" } }] },
  });
  await memory.close();
});

test("a crash right after the answer loses no pause", async () => {
  const memory = await MemoryKernel.create();
  await start(memory, "r1");
  await ask(memory, "r1", pauseRun());
  memory.powerCut();
  await memory.open();
  await memory.kernel.ready;
  const worker = await connect(memory, 1);
  expect(worker.offers).toEqual([]);
  await ask(memory, "r1", cancelRun());
  expect(await memory.kernel.load(1)).toMatchObject({ run: { status: RunStatus.CANCELLED } });
  await memory.close();
});

test("paused runs are listed by their state, and among all", async () => {
  const memory = await MemoryKernel.create();
  for (const runId of ["r1", "r2", "r3"]) await start(memory, runId);
  await ask(memory, "r2", pauseRun());
  const listed = async (status: number): Promise<readonly string[]> => {
    const filter = { namespace: "default", status, workflow: "" };
    const page = await memory.kernel.lists.listRuns(filter, { size: 2, token: "" }, (r) => r.runId);
    const rest =
      page.nextPageToken === ""
        ? []
        : (
            await memory.kernel.lists.listRuns(
              filter,
              { size: 9, token: page.nextPageToken },
              (r) => r.runId,
            )
          ).items;
    return [...page.items, ...rest];
  };
  const all = async (): Promise<unknown> => ({
    all: await listed(0),
    running: await listed(RunStatus.RUNNING),
    paused: await listed(RunStatus.PAUSED),
  });
  const expected = { all: ["r3", "r2", "r1"], running: ["r3", "r1"], paused: ["r2"] };
  expect(await all()).toEqual(expected);
  await memory.close();
  await memory.open();
  await memory.kernel.ready;
  expect(await all()).toEqual(expected);
  await memory.close();
});

test("a run that is paused and resumed over and over waits once for a worker, however long none comes", async () => {
  const memory = await MemoryKernel.create();
  await start(memory, "r1");
  for (let count = 0; count < 1500; count++) {
    void memory.kernel.ask(runOf("r1"), pauseRun());
    void memory.kernel.ask(runOf("r1"), resumeRun());
    await memory.time.settle();
  }
  const [queue] = memory.kernel.loop.work.dispatcher.queues();
  expect(queue?.ready).toBeLessThan(1100);
  const { offers } = await connect(memory, 5);
  await memory.time.settle();
  expect(offers).toEqual(["r1 1"]);
  await memory.close();
});

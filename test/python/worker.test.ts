import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";
import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { HoldPoint, SinkMode } from "../../examples/ticket-service/client.js";
import { json } from "../rpc/support/fixtures.js";
import { type Actor, Stage, type Times } from "./support/stage.js";

let stage: Stage;

// Generates the client anew when the contract has changed since; else it does nothing.
beforeAll(() => {
  const { status, stderr } = spawnSync("python3", [setUp], { encoding: "utf8" });
  expect(stderr).toBe("");
  expect(status).toBe(0);
}, 300_000);

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

const setUp = fileURLToPath(new URL("../../examples/python/set-up.py", import.meta.url));

/** What must come out, and what the sink's own books must show. Written by hand, after docs/concepts/failure-windows.md. */
interface Row {
  readonly sink: SinkMode;
  readonly ends: "completed" | "failed" | "needs-review";
  readonly calls: number;
  readonly effects: number;
}

const once: readonly Row[] = [
  { sink: "idempotent", ends: "completed", calls: 1, effects: 1 },
  { sink: "reconcilable", ends: "completed", calls: 1, effects: 1 },
  { sink: "opaque", ends: "completed", calls: 1, effects: 1 },
];

/** The caller died, and its request was lost on the way. */
const lostBefore: readonly Row[] = [
  { sink: "idempotent", ends: "completed", calls: 2, effects: 1 },
  { sink: "reconcilable", ends: "completed", calls: 2, effects: 1 },
  { sink: "opaque", ends: "needs-review", calls: 1, effects: 0 },
];

/** The caller died after the effect, before it was told. */
const lostAfter: readonly Row[] = [
  { sink: "idempotent", ends: "completed", calls: 2, effects: 1 },
  { sink: "reconcilable", ends: "completed", calls: 1, effects: 1 },
  { sink: "opaque", ends: "needs-review", calls: 1, effects: 1 },
];

async function expectEnd({ ends, calls, effects }: Row): Promise<void> {
  expect(await stage.settled()).toBe(ends);
  expect(await stage.books()).toEqual({ calls, effects });
}

/** Long enough for a busy machine: what must not end does not. */
const patient = { leaseSeconds: 30n, callMs: 60_000 };
/** Whoever died is waited for, so this is short; and long enough for a busy machine to get where it is killed. */
const quick = { leaseSeconds: 2n, callMs: 5_000 };

/** Kernel and worker, with the worker's call standing at the sink. */
async function heldCall(
  sink: SinkMode,
  point: HoldPoint,
  times: Times,
): Promise<{
  readonly kernel: Actor;
  readonly worker: Actor;
  release(how: "go" | "drop"): Promise<number>;
}> {
  const kernel = await stage.kernel();
  const worker = await stage.worker();
  const holdId = await stage.hold(point);
  await stage.startRun(sink, times);
  await stage.untilHeld(holdId);
  return { kernel, worker, release: (how) => stage.tickets.client.release(how, { holdId }) };
}

describe("a Python worker", () => {
  test.each(once)("files one ticket at a sink that is $sink", async (row) => {
    await stage.kernel();
    await stage.worker();
    await stage.startRun(row.sink, patient);
    await expectEnd(row);
  });

  test.each(once)("goes on when the kernel is killed during its call, $sink", async (row) => {
    const { kernel, release } = await heldCall(row.sink, "after-effect", patient);
    await kernel.kill();
    await release("go");
    await stage.kernel();
    await expectEnd(row);
  });
});

test("a Python worker reads that a task which it needs failed, where the plan goes on over that", async () => {
  await stage.kernel();
  await stage.worker(["python.confirm"]);
  const tasks = [
    { name: "file", kind: "nobody.serves", timeouts: { scheduleToStart: { seconds: 0n } } },
    {
      name: "confirm",
      kind: "python.confirm",
      needs: ["file"],
      join: { rules: [{ task: "file", onFailure: OnNeedFailure.CONTINUE }] },
    },
  ];
  const run = {
    runId: "r",
    workflow: "python",
    plan: { tasks, output: "confirm" },
    input: json({}),
  };
  await stage.client.unary(RunService.method.startRuns, { runs: [run] });
  expect(await stage.settled()).toBe("completed");
  const { task } = await stage.client.unary(RunService.method.getTask, {
    runId: "r",
    task: "confirm",
  });
  const { body } = task?.output ?? {};
  expect(body?.case === "data" && JSON.parse(Buffer.from(body.value).toString())).toEqual({
    confirmed: null,
    why: "PAWL_NOT_STARTED_IN_TIME",
  });
});

describe("a Python worker that is killed", () => {
  test.each(lostBefore)("before its call takes effect, $sink: $calls calls", async (row) => {
    const { worker, release } = await heldCall(row.sink, "before-effect", quick);
    await worker.kill();
    await release("drop");
    await stage.worker();
    await expectEnd(row);
  });

  test.each(lostAfter)("before it hears of the effect, $sink: $calls calls", async (row) => {
    const { worker, release } = await heldCall(row.sink, "after-effect", quick);
    await worker.kill();
    await release("drop");
    await stage.worker();
    await expectEnd(row);
  });

  test.each(lostAfter)(
    "together with the kernel behind the effect, $sink: $calls calls",
    async (row) => {
      const { kernel, worker, release } = await heldCall(row.sink, "after-effect", quick);
      await Promise.all([worker.kill(), kernel.kill()]);
      await release("drop");
      await stage.kernel();
      await stage.worker();
      await expectEnd(row);
    },
  );

  test.each(once)("after its completion is durable, $sink: nothing runs again", async (row) => {
    await stage.kernel();
    const worker = await stage.worker(["python.file"]);
    await stage.startRun(row.sink, patient);
    await stage.happened("TaskCompleted", "file");
    await worker.kill();
    await stage.worker();
    await expectEnd(row);
  });
});

describe("a Python worker whose ticket must be approved", () => {
  /** On a kernel without credentials everybody is the requester. */
  const asked = { ...patient, approvers: ["role:approver"], requesterMayDecide: true };

  test("waits without worker and kernel, and files it once it is approved", async () => {
    const kernel = await stage.kernel();
    const worker = await stage.worker();
    await stage.startRun("opaque", asked);
    await stage.happened("TaskSuspended", "file");
    await Promise.all([worker.kill(), kernel.kill()]);
    await stage.kernel();
    await stage.decide(ProposalVerdict.APPROVE);
    expect(await stage.books()).toEqual({ calls: 0, effects: 0 });
    await stage.worker();
    await expectEnd({ sink: "opaque", ends: "completed", calls: 1, effects: 1 });
  });

  test("files nothing when it is rejected", async () => {
    await stage.kernel();
    await stage.worker();
    await stage.startRun("idempotent", asked);
    await stage.happened("TaskSuspended", "file");
    await stage.decide(ProposalVerdict.REJECT);
    await expectEnd({ sink: "idempotent", ends: "failed", calls: 0, effects: 0 });
  });

  test("needs no second approval when it is killed behind the effect", async () => {
    await stage.kernel();
    const worker = await stage.worker();
    const holdId = await stage.hold("after-effect");
    await stage.startRun("reconcilable", { ...asked, ...quick });
    await stage.happened("TaskSuspended", "file");
    await stage.decide(ProposalVerdict.APPROVE);
    await stage.untilHeld(holdId);
    await worker.kill();
    await stage.tickets.client.release("drop", { holdId });
    await stage.worker();
    await expectEnd({ sink: "reconcilable", ends: "completed", calls: 1, effects: 1 });
  });
});

describe("a Python worker that needs to know something", () => {
  test("waits without worker and kernel, and goes on with the answer; what does not meet its schema is refused", async () => {
    const kernel = await stage.kernel();
    const worker = await stage.worker();
    await stage.startRun("idempotent", { ...patient, ask: "role:on-call" });
    await stage.happened("TaskSuspended", "file");
    await Promise.all([worker.kill(), kernel.kill()]);
    await stage.kernel();
    await expect(stage.answer("terrible")).rejects.toMatchObject({ reason: "PAWL_ANSWER_REFUSED" });
    await stage.answer("major");
    await stage.worker();
    await expectEnd({ sink: "idempotent", ends: "completed", calls: 1, effects: 1 });
    expect(await stage.labels()).toEqual([["major"]]);
  });
});

describe("a Python worker at whose handler something goes wrong", () => {
  test("reports the mistake, and serves on", async () => {
    await stage.kernel();
    await stage.worker();
    // The handler reads a field that its input does not have.
    const task = { name: "file", kind: "python.file", retry: { attemptsMax: 1 } };
    const mistaken = { runId: "mistaken", workflow: "python", plan: { tasks: [task] } };
    await stage.client.unary(RunService.method.startRuns, {
      runs: [{ ...mistaken, input: json({}) }],
    });
    const { result } = await stage.client.unary(RunService.method.getResult, {
      runId: "mistaken",
      wait: { seconds: 30n },
    });
    const mistake = { kind: "KeyError", message: "'sink'", retryable: true };
    expect(result?.failure?.cause).toMatchObject(mistake);
    await stage.startRun("idempotent", patient);
    await expectEnd({ sink: "idempotent", ends: "completed", calls: 1, effects: 1 });
  });

  test("stops when its lease is gone before it has read what is recorded, and serves on", async () => {
    await stage.kernel();
    await stage.startRun("idempotent", patient);
    // An offer whose lease there never was is what one is like that was lost meanwhile.
    const said = await stage.python(
      "import worker",
      "offer = worker.work.Offer(run_id='r', task='file', lease_version=7)",
      "worker.attempt(offer, None)",
      "print('serves on')",
    );
    expect(said).toEqual(["r file: stopped, PAWL_LEASE_LOST", "serves on", ""]);
  });
});

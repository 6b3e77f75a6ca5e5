import { AdminService, type CurrentVersion } from "@pawl/proto/v1/admin_service_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService, type StartRun } from "@pawl/proto/v1/run_service_pb.js";
import { VersionMode } from "@pawl/proto/v1/version_pb.js";
import { type Offer, WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { describe, expect, test } from "vitest";
import { eachTestServer } from "./support/each-test-server.js";
import { json, leaseRef, oneTask } from "./support/fixtures.js";
import { codeAndReason } from "./support/refusal.js";
import type { RpcClient } from "./support/rpc-client.js";
import { TestWorker } from "./support/worker.js";

const { PINNED, FOLLOW } = VersionMode;
const { method: run } = RunService;
const { setCurrentVersion, getCurrentVersion, listCurrentVersions, removeCurrentVersion } =
  AdminService.method;

const server = eachTestServer();

const set = (codeVersion: number, expectedVersion?: number, client: RpcClient = server.grpc) =>
  client.unary(setCurrentVersion, {
    workflow: "test",
    codeVersion,
    ...(expectedVersion === undefined ? {} : { expectedVersion }),
  });

/** A start that asks for the current version of workflow `test`. */
const asking = (runId: string, mode: VersionMode, orElse = 0): StartRun =>
  oneTask(runId, "test@current", { versionChoice: { mode, orElse } });

async function start(item: StartRun): Promise<string> {
  const { results } = await server.grpc.unary(run.startRuns, { runs: [item] });
  const [result] = results;
  return result?.rejection?.reason ?? (result?.existing === true ? "existing" : "new");
}

const connect = (versions: readonly number[], credits = 1, queue = "") =>
  TestWorker.connect(
    server.grpc,
    {
      sessionId: `of ${versions.join()} ${queue}`,
      serves: versions.map((version) => ({ kind: `test@${version}`, queue })),
    },
    { credits },
  );

async function show(runId: string) {
  const { run: shown } = await server.grpc.unary(run.getRun, { runId });
  return shown;
}

const lease = ({ handle, leaseVersion }: Offer) => ({ handle, leaseVersion });

/** Gives the task back until signal `go` comes. */
async function suspend(worker: TestWorker, offer: Offer, keepsWarm: boolean): Promise<void> {
  const wait = { name: "go", subject: { case: "signal", value: { signal: "go" } } } as const;
  const { seenThrough } = offer;
  worker.send({
    suspends: [{ ...lease(offer), correlation: 2, seenThrough, waits: [wait], keepsWarm }],
    credits: 1,
  });
  expect(await worker.answer(2)).toBe("accepted");
}

const wake = (runId: string) =>
  server.grpc.unary(run.sendSignal, { runId, requestId: "go", name: "go" });

let barriers = 100;

/** How many offers a session got; whatever was sent to it before comes before the answer to an item. */
async function offersOf(worker: TestWorker): Promise<number> {
  barriers++;
  const outcome = { case: "value", value: json(1) } as const;
  worker.send({
    steps: [{ handle: 99, leaseVersion: 1, correlation: barriers, name: "s", outcome }],
  });
  expect(await worker.reason(barriers)).toBe("PAWL_LEASE_LOST");
  return worker.seen.flatMap(({ offers }) => offers).length;
}

const refusalOf = async (call: Promise<unknown>): Promise<string> =>
  codeAndReason(await call.catch((error: unknown) => error));

describe.each(["grpc", "json"] as const)("the current version of a workflow, by %s", (protocol) => {
  const client = (): RpcClient => server[protocol];
  const get = async (): Promise<CurrentVersion | undefined> =>
    (await client().unary(getCurrentVersion, { workflow: "test" })).current;

  test("is set, told, listed and removed, and its changes are counted", async () => {
    expect(await get()).toMatchObject({ workflow: "test", codeVersion: 0, version: 0 });
    const first = await set(2, 0, client());
    expect(first).toMatchObject({ existing: false, current: { codeVersion: 2, version: 1 } });
    expect(first.position.length).toBeGreaterThan(0);
    expect(await set(3, undefined, client())).toMatchObject({
      current: { codeVersion: 3, version: 2, changedBy: "local", sessions: 0 },
    });
    await connect([3]);
    expect(await get()).toMatchObject({ codeVersion: 3, version: 2, sessions: 1 });
    await client().unary(setCurrentVersion, { workflow: "another", codeVersion: 1 });
    const listed = await client().unary(listCurrentVersions, {});
    expect(listed.versions.map(({ workflow }) => workflow)).toEqual(["test", "another"]);
    const removed = await client().unary(removeCurrentVersion, { workflow: "test" });
    expect(removed).toMatchObject({ existing: false, current: { codeVersion: 0, version: 3 } });
    const left = await client().unary(listCurrentVersions, {});
    expect(left.versions.map(({ workflow }) => workflow)).toEqual(["another"]);
    expect(await set(3, 3, client())).toMatchObject({ current: { codeVersion: 3, version: 4 } });
  });

  test("is changed only from the version that was expected, and a change that is sent again is known", async () => {
    await set(2, 0, client());
    expect(await refusalOf(set(3, 0, client()))).toBe("FAILED_PRECONDITION PAWL_STALE_VERSION");
    expect(await set(2, 0, client())).toMatchObject({ existing: true, current: { version: 1 } });
    expect(await set(2, 1, client())).toMatchObject({ existing: true, current: { version: 1 } });
    await set(3, 1, client());
    expect(await refusalOf(set(2, 0, client()))).toBe("FAILED_PRECONDITION PAWL_STALE_VERSION");
    const remove = (expectedVersion: number) =>
      client().unary(removeCurrentVersion, { workflow: "test", expectedVersion });
    expect(await refusalOf(remove(1))).toBe("FAILED_PRECONDITION PAWL_STALE_VERSION");
    expect(await remove(2)).toMatchObject({ existing: false });
    expect(await remove(2)).toMatchObject({ existing: true });
  });

  test("is listed in pages", async () => {
    for (const workflow of ["a", "b", "c"]) {
      await client().unary(setCurrentVersion, { workflow, codeVersion: 1 });
    }
    await client().unary(removeCurrentVersion, { workflow: "b" });
    const first = await client().unary(listCurrentVersions, { pageSize: 1 });
    expect(first.versions.map(({ workflow }) => workflow)).toEqual(["a"]);
    const { nextPageToken: pageToken } = first;
    const second = await client().unary(listCurrentVersions, { pageSize: 1, pageToken });
    expect(second.versions.map(({ workflow }) => workflow)).toEqual(["c"]);
    expect(second.nextPageToken).toBe("");
  });
});

describe("a start that asks for the current version", () => {
  test("keeps the one that was current, whatever becomes current; sent again it is existing", async () => {
    await set(2);
    expect(await start(asking("r", PINNED))).toBe("new");
    await set(3);
    expect(await start(asking("r", PINNED))).toBe("existing");
    expect(await show("r")).toMatchObject({ codeVersion: { version: 2, mode: PINNED } });
    const newer = await connect([3]);
    expect(await offersOf(newer)).toBe(0);
    expect((await show("r"))?.why).toMatch(
      /no worker that serves kind "test@2" is connected; the run keeps its version\.$/,
    );
    const older = await connect([2]);
    expect(await older.offer()).toMatchObject({
      kind: "test@2",
      codeVersion: { version: 2, mode: PINNED },
    });
    await server.grpc.unary(removeCurrentVersion, { workflow: "test" });
    expect(await start(asking("r", PINNED))).toBe("existing");
  });

  test("is refused while none is current, and begins nothing", async () => {
    expect(await start(asking("r", PINNED))).toBe("PAWL_NO_CURRENT_VERSION");
    expect(await start(asking("r", FOLLOW))).toBe("PAWL_NO_CURRENT_VERSION");
    await set(1);
    expect(await start(asking("r", PINNED))).toBe("new");
  });

  test("leaves alone who serves a kind of that name", async () => {
    await set(2);
    expect(await start(oneTask("r", "test@current"))).toBe("new");
    const current = await connect([2]);
    expect(await offersOf(current)).toBe(0);
    const named = await TestWorker.connect(
      server.grpc,
      { sessionId: "named", serves: [{ kind: "test@current" }] },
      { credits: 2 },
    );
    expect(await named.offer()).toMatchObject({ runId: "r", kind: "test@current" });
    expect(await start(asking("f", FOLLOW))).toBe("new");
    expect(await current.offer()).toMatchObject({ runId: "f", kind: "test@2" });
  });
});

describe("a run that follows", () => {
  test("goes on with the version that is current when a worker takes it, and not amid an attempt", async () => {
    await set(1);
    await start(asking("r", FOLLOW));
    const [one, two] = [await connect([1]), await connect([2])];
    const first = await one.offer();
    expect(first).toMatchObject({ kind: "test@1", codeVersion: { version: 1, mode: FOLLOW } });
    await set(2);
    const { task } = await server.grpc.unary(run.getTask, { runId: "r", task: "only" });
    expect(task).toMatchObject({ kind: "test@1", codeVersion: 1, status: TaskStatus.LEASED });
    expect(await offersOf(two)).toBe(0);
    await suspend(one, first, false);
    await wake("r");
    const second = await two.offer();
    expect(second).toMatchObject({ kind: "test@2", codeVersion: { version: 2 }, attempt: 1 });
    two.send({
      reports: [
        { ...lease(second), correlation: 3, outcome: { case: "output", value: json("done") } },
      ],
    });
    expect(await two.answer(3)).toBe("accepted");
    const events: string[] = [];
    for await (const page of server.grpc.stream(run.getHistory, { runId: "r" })) {
      events.push(...page.events.map(({ type, detail }) => `${type}: ${detail}`));
    }
    expect(events.filter((each) => each.startsWith("TaskLeased"))).toEqual([
      'TaskLeased: Worker "tester" got it, at version 1, which was current.',
      'TaskLeased: Worker "tester" got it, at version 2, which was current.',
    ]);
    expect(events[0]).toBe('RunStarted: Workflow "test" began, following the current version.');
  });

  test("that is ready goes to whoever serves the version that becomes current", async () => {
    await set(1);
    await start(asking("r", FOLLOW));
    const two = await connect([2]);
    expect(await offersOf(two)).toBe(0);
    expect((await show("r"))?.why).toContain('serves kind "test@1", the current version, is');
    await set(2);
    expect(await two.offer()).toMatchObject({ runId: "r", kind: "test@2" });
    expect(await show("r")).toMatchObject({ codeVersion: { version: 0, mode: FOLLOW } });
  });

  test("waits while none is current, says so, and goes on when one is", async () => {
    await set(1);
    await start(asking("r", FOLLOW));
    await server.grpc.unary(removeCurrentVersion, { workflow: "test" });
    const one = await connect([1]);
    expect(await offersOf(one)).toBe(0);
    const waiting = await show("r");
    expect(waiting?.why).toMatch(
      /follows the current version of workflow "test", and none is set: set one\.$/,
    );
    const report = await server.grpc.unary(run.getRecoveryReport, { runId: "r" });
    expect(report).toMatchObject({ codeVersion: { mode: FOLLOW } });
    expect(report.lines[0]?.sentence).toContain("none is set");
    await set(1);
    expect(await one.offer()).toMatchObject({ attempt: 1, leaseVersion: 1 });
  });
});

describe("a task that follows", () => {
  test("comes cold to a worker that keeps another version of it warm", async () => {
    await set(1);
    await start(asking("r", FOLLOW));
    const both = await connect([1, 2], 2);
    const first = await both.offer();
    expect(first.kind).toBe("test@1");
    await suspend(both, first, true);
    await set(2);
    await wake("r");
    expect(await both.offer()).toMatchObject({ kind: "test@2", warm: false });
  });

  test("comes warm to a worker whose copy is of the version that is current again", async () => {
    await set(1);
    await start(asking("r", FOLLOW));
    const both = await connect([1, 2], 2);
    await suspend(both, await both.offer(), true);
    await set(2);
    await set(1);
    await wake("r");
    expect(await both.offer()).toMatchObject({ kind: "test@1", warm: true });
  });

  test("is taken from a queue that its plan names as well, and by a claim", async () => {
    await set(1);
    const plan = { tasks: [{ name: "only", kind: "test@current", queue: "big" }], output: "only" };
    await start(oneTask("r", "", { plan, versionChoice: { mode: FOLLOW } }));
    const plain = await connect([1]);
    expect(await offersOf(plain)).toBe(0);
    const claims: Offer[] = [];
    const { claimTasks } = WorkerService.method;
    for await (const { offers } of server.grpc.stream(claimTasks, {
      ...{ sessionId: "c", worker: "claimer", once: true },
      serves: [{ kind: "test@1", queue: "big" }],
    })) {
      claims.push(...offers);
    }
    expect(claims).toMatchObject([{ runId: "r", kind: "test@1" }]);
  });
});

test("a child of a run gets the current version, pinned or following", async () => {
  await set(4);
  await server.grpc.unary(run.startRuns, { runs: [oneTask("parent", "k")] });
  const worker = await TestWorker.connect(server.grpc, {}, { credits: 1 });
  const offer = await worker.offer();
  const child = (name: string, mode: VersionMode) => ({
    ...{ name, workflow: "test", versionChoice: { mode, orElse: 0 } },
    plan: { tasks: [{ name: "main", kind: "test@current" }], output: "main" },
  });
  const { results } = await server.grpc.unary(WorkerService.method.startChildren, {
    lease: leaseRef(offer),
    children: [child("kept", PINNED), child("moving", FOLLOW)],
  });
  const ids = results.map(({ obligation }) => obligation?.runId ?? "");
  await set(5);
  const four = await connect([4], 2);
  const five = await connect([5], 2);
  expect(await four.offer()).toMatchObject({ runId: ids[0], kind: "test@4" });
  expect(await five.offer()).toMatchObject({ runId: ids[1], kind: "test@5" });
  await server.grpc.unary(removeCurrentVersion, { workflow: "test" });
  const again = await server.grpc.unary(WorkerService.method.startChildren, {
    lease: leaseRef(offer),
    children: [child("kept", PINNED), child("late", PINNED)],
  });
  expect(again.results.map(({ rejection, existing }) => rejection?.reason ?? existing)).toEqual([
    true,
    "PAWL_NO_CURRENT_VERSION",
  ]);
});

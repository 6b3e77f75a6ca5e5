import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { OnExhausted } from "@pawl/proto/v1/plan_pb.js";
import { RecoveryClass } from "@pawl/proto/v1/recovery_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { complete, json, leasedRun, oneTask, textOf } from "./support/fixtures.js";
import { openTestServer, type TestServer } from "./support/test-server.js";

const { method: run } = RunService;

let server: TestServer;

beforeAll(async () => {
  server = await openTestServer();
  await server.grpc.unary(run.startRuns, {
    runs: [
      {
        runId: "graph",
        workflow: "graph",
        input: json("in"),
        labels: [{ key: "team", value: "billing" }],
        plan: {
          tasks: [
            { name: "first", kind: "graph-kind" },
            ...Array.from({ length: 9 }, (_, index) => ({
              name: `next-${index}`,
              kind: "graph-kind",
              needs: ["first"],
            })),
          ],
        },
      },
    ],
  });
  await complete(server.grpc, await leasedRun(server.grpc, "done"), { ok: true });
});
afterAll(async () => {
  await server.close();
  expect(server.faults).toEqual([]);
});

describe.each(["grpc", "json"] as const)("one run over %s", (protocol) => {
  test("a run says where it stands, and why", async () => {
    const { run: graph } = await server[protocol].unary(run.getRun, { runId: "graph" });
    expect(graph).toMatchObject({
      ...{ namespace: "default", runId: "graph", incarnation: 1, workflow: "graph" },
      status: RunStatus.RUNNING,
      version: 1,
      planVersion: 1,
      cancelRequested: false,
      labels: { team: "billing" },
      taskCounts: [
        { status: TaskStatus.BLOCKED, count: 9 },
        { status: TaskStatus.READY, count: 1 },
      ],
      why: expect.stringMatching(
        /^Task "first" has been ready for attempt 1 of 5 for \d+ m?s, but no worker that serves kind "graph-kind" is connected; 9 more tasks are open\.$/,
      ),
    });
    expect(graph?.fingerprint).toHaveLength(32);
    expect(graph?.startedAt).toBeDefined();
    expect(graph?.closedAt).toBeUndefined();
  });

  test("a task says its state, what may follow, and has its output", async () => {
    const { task } = await server[protocol].unary(run.getTask, { runId: "done", task: "only" });
    expect(task).toMatchObject({
      ...{ name: "only", kind: "kind-done", queue: "kind-done", attempt: 1, leaseVersion: 1 },
      status: TaskStatus.COMPLETED,
      attemptsLeft: 4,
      worker: "",
      waitsFor: "",
      next: [],
    });
    expect(textOf(task?.output)).toBe('{"ok":true}');
    const { task: ready } = await server[protocol].unary(run.getTask, {
      runId: "graph",
      task: "first",
    });
    // COMPLETED by an operator, who did it by hand.
    const { LEASED, COMPLETED, FAILED, CANCELLED, SUPERSEDED } = TaskStatus;
    expect(ready?.next).toEqual([LEASED, COMPLETED, FAILED, CANCELLED, SUPERSEDED]);
  });

  test("the attempt that runs is not among those that may still follow", async () => {
    const runId = `held-${protocol}`;
    const held = await leasedRun(server.grpc, runId);
    const { task } = await server[protocol].unary(run.getTask, { runId, task: "only" });
    expect(task).toMatchObject({ status: TaskStatus.LEASED, attempt: 1, attemptsLeft: 4 });
    await complete(server.grpc, held, { ok: true });
  });

  test("tasks are listed in plan order, in pages, without outputs", async () => {
    const names: string[] = [];
    let pageToken = "";
    let pages = 0;
    do {
      const page = await server[protocol].unary(run.listTasks, {
        ...{ runId: "graph", pageSize: 4, pageToken },
      });
      names.push(...page.tasks.map(({ name }) => name));
      pageToken = page.nextPageToken;
      pages++;
    } while (pageToken !== "");
    expect(names).toEqual(["first", ...Array.from({ length: 9 }, (_, index) => `next-${index}`)]);
    expect(pages).toBe(3);
    const { tasks } = await server[protocol].unary(run.listTasks, {
      ...{ runId: "graph", status: TaskStatus.READY },
    });
    expect(tasks.map(({ name }) => name)).toEqual(["first"]);
    const done = await server[protocol].unary(run.listTasks, { runId: "done" });
    expect(done.tasks[0]?.output).toBeUndefined();
  });

  test("a token is bound to its filter", async () => {
    const { nextPageToken } = await server[protocol].unary(run.listTasks, {
      ...{ runId: "graph", pageSize: 1 },
    });
    const other = server[protocol].unary(run.listTasks, {
      ...{ runId: "done", pageToken: nextPageToken },
    });
    await expect(other).rejects.toMatchObject({ reason: "PAWL_INVALID_PAGE_TOKEN" });
  });
});

test("a task tells its policy with every default filled in", async () => {
  const { task } = await server.grpc.unary(run.getTask, { runId: "done", task: "only" });
  expect(task?.retry).toMatchObject({
    ...{ attemptsMax: 5, backoffCoefficient: 2, jitter: 0.2, workerLossesMax: 5 },
    initialInterval: { seconds: 1n },
    intervalMax: { seconds: 100n },
    onExhausted: OnExhausted.FAIL,
  });
  expect(task?.timeouts?.lease?.seconds).toBe(30n);
  expect(task?.timeouts?.startToClose).toBeUndefined();
});

describe.each(["grpc", "json"] as const)("lists and waits over %s", (protocol) => {
  test("runs are listed newest first, and by their state", async () => {
    const { runs } = await server[protocol].unary(run.listRuns, {});
    const ids = runs.map(({ runId }) => runId);
    expect(ids.slice(-2)).toEqual(["done", "graph"]);
    const open = await server[protocol].unary(run.listRuns, { status: RunStatus.RUNNING });
    expect(open.runs.map(({ runId }) => runId)).toEqual(["graph"]);
    const named = await server[protocol].unary(run.listRuns, { workflow: "graph" });
    expect(named.runs.map(({ runId }) => runId)).toEqual(["graph"]);
  });

  test("a result is there at once for a run that has ended, and waited for otherwise", async () => {
    const { result } = await server[protocol].unary(run.getResult, { runId: "done" });
    expect(result).toMatchObject({ runId: "done", status: RunStatus.COMPLETED });
    const none = await server[protocol].unary(run.getResult, {
      ...{ runId: "graph", wait: { nanos: 20_000_000 } },
    });
    expect(none.result).toBeUndefined();
  });

  test("many results come as they are ready, each with its place", async () => {
    const places: string[] = [];
    const request = { runIds: ["done", "none", "done"] };
    for await (const { results } of server[protocol].stream(run.awaitResults, request)) {
      for (const { correlation, result, rejection } of results) {
        places.push(`${correlation} ${result?.runId ?? rejection?.reason}`);
      }
    }
    expect(places.sort()).toEqual(["0 done", "1 PAWL_RUN_NOT_FOUND", "2 done"]);
  });

  test("a start is acknowledged first and answered when the run ends", async () => {
    const runId = `await-${protocol}`;
    const cases: (string | undefined)[] = [];
    const start = oneTask(runId, `kind-${runId}`);
    for await (const { body } of server[protocol].stream(run.startAndAwait, { run: start })) {
      cases.push(body.case);
      if (body.case === "started") {
        expect(body.value).toMatchObject({ existing: false, version: 1, incarnation: 1 });
        await server.grpc.unary(run.terminateRun, { runId, reason: "enough" });
      } else {
        expect(body.value).toMatchObject({ runId, status: RunStatus.TERMINATED });
      }
    }
    expect(cases).toEqual(["started", "result"]);
  });
});

describe.each(["grpc", "json"] as const)("the rest over %s", (protocol) => {
  test("the recovery report has every task on a line", async () => {
    const report = await server[protocol].unary(run.getRecoveryReport, { runId: "done" });
    expect(report).toMatchObject({
      runId: "done",
      status: RunStatus.COMPLETED,
      lines: [{ class: RecoveryClass.UNTOUCHED, task: "only", eventNumbers: [2, 3] }],
    });
    expect(report.why).toMatch(/^It completed after /);
    expect(report.nextPageToken).toBe("");
  });

  test("the recovery report of a large run comes in pages, each line once", async () => {
    const runId = `wide-${protocol}`;
    const tasks = Array.from({ length: 7 }, (_, number) => ({
      name: `t${number}`,
      kind: "nobody",
    }));
    await server.grpc.unary(run.startRuns, {
      runs: [oneTask(runId, "nobody", { plan: { tasks } })],
    });
    const told: string[] = [];
    let pageToken = "";
    let pages = 0;
    do {
      const page = await server[protocol].unary(run.getRecoveryReport, {
        ...{ runId, pageSize: 3, pageToken },
      });
      told.push(...page.lines.map(({ task }) => task));
      pageToken = page.nextPageToken;
      pages++;
    } while (pageToken !== "");
    expect(pages).toBe(3);
    expect(told).toEqual(tasks.map(({ name }) => name));
    const { lines, nextPageToken } = await server[protocol].unary(run.getRecoveryReport, { runId });
    expect([lines.length, nextPageToken]).toEqual([7, ""]);
  });

  test("lists of what is not there are empty", async () => {
    const { operations } = await server[protocol].unary(OperationService.method.listOperations, {});
    expect(operations).toEqual([]);
    const { reviews } = await server[protocol].unary(ReviewService.method.listReviews, {
      ...{ runId: "done", includeResolved: true },
    });
    expect(reviews).toEqual([]);
  });

  test("a run that was asked to stop answers existing the second time", async () => {
    const runId = `cancel-${protocol}`;
    await server.grpc.unary(run.startRuns, { runs: [oneTask(runId, `kind-${runId}`)] });
    const first = await server[protocol].unary(run.cancelRun, { runId, expectedVersion: 1 });
    expect(first).toMatchObject({ existing: false, status: RunStatus.CANCELLED });
    expect(first.position.length).toBeGreaterThan(0);
    const second = await server[protocol].unary(run.cancelRun, { runId });
    expect(second).toMatchObject({ existing: true, version: first.version });
  });
});

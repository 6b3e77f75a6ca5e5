import { toJson } from "@bufbuild/protobuf";
import { HistoryEventSchema } from "@pawl/proto/v1/history_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import type { WatchedEvent, Watcher } from "@pawl/server/kernel/kernel-api.js";
import { RejectionError } from "@pawl/server/kernel/outcome.js";
import { expect, test } from "vitest";
import { eachTestServer } from "./support/each-test-server.js";
import { claim, complete, json, leasedRun, leaseRef, oneTask } from "./support/fixtures.js";
import { codeAndReason } from "./support/refusal.js";
import { override } from "./support/refusing-kernel.js";
import { openTestServer } from "./support/test-server.js";

const { method: run } = RunService;

const server = eachTestServer();

test.each(["grpc", "json"] as const)(
  "a run is watched over %s from its first event to its end",
  async (protocol) => {
    const offer = await leasedRun(server.grpc, "r");
    const types: string[] = [];
    const numbers: number[] = [];
    let isClosed = false;
    for await (const message of server[protocol].stream(run.watchRun, { runId: "r" })) {
      expect(isClosed).toBe(false);
      types.push(...message.events.map(({ type }) => type));
      numbers.push(...message.events.map(({ number }) => number));
      expect(message.position.length).toBeGreaterThan(0);
      if (types.length === 2) {
        // The rest comes while it is watched.
        await complete(server.grpc, offer, "done");
      }
      isClosed = message.closed;
    }
    expect(types).toEqual(["RunStarted", "TaskLeased", "TaskCompleted", "RunClosed"]);
    expect(numbers).toEqual([1, 2, 3, 4]);
    expect(isClosed).toBe(true);
  },
);

test("a watch that was cut goes on at its position, without gap or repeat", async () => {
  const offer = await leasedRun(server.grpc, "r");
  for (let step = 0; step < 20; step++) {
    await server.grpc.unary(WorkerService.method.recordSteps, {
      lease: leaseRef(offer),
      steps: [{ name: `s${step}`, outcome: { case: "value", value: json(step) } }],
    });
  }
  await complete(server.grpc, offer, "done");
  const numbers: number[] = [];
  let position: Uint8Array = new Uint8Array(0);
  let isClosed = false;
  while (!isClosed) {
    for await (const message of server.grpc.stream(run.watchRun, { runId: "r", position })) {
      numbers.push(...message.events.map(({ number }) => number));
      ({ position } = message);
      isClosed = message.closed;
      break; // Cut after every message.
    }
  }
  expect(numbers).toEqual(Array.from({ length: 24 }, (_, index) => index + 1));
});

test("a namespace is watched from now on, and its first message only says where", async () => {
  await server.grpc.unary(run.startRuns, { runs: [oneTask("before", "k")] });
  const seen: string[] = [];
  let isFirst = true;
  for await (const message of server.grpc.stream(run.watchRuns, { workflow: "test" })) {
    if (isFirst) {
      isFirst = false;
      expect(message.events).toEqual([]);
      expect(message.position.length).toBeGreaterThan(0);
      await server.grpc.unary(run.startRuns, {
        runs: [oneTask("seen", "k"), oneTask("other", "k", { workflow: "other" })],
      });
    }
    seen.push(...message.events.map((told) => `${told.runId} ${told.event?.type}`));
    if (seen.length > 0) {
      break;
    }
  }
  expect(seen).toEqual(["seen RunStarted"]);
});

test("history tells the same events, with what each is about", async () => {
  const offer = await leasedRun(server.grpc, "r");
  await server.grpc.unary(WorkerService.method.recordSteps, {
    lease: leaseRef(offer),
    steps: [{ name: "plan", key: "1", outcome: { case: "value", value: json({ a: 1 }) } }],
  });
  await complete(server.grpc, offer, "done");
  const events: unknown[] = [];
  for await (const page of server.json.stream(run.getHistory, { runId: "r", fromNumber: 2 })) {
    events.push(...page.events.map((told) => toJson(HistoryEventSchema, told)));
  }
  expect(events).toMatchObject([
    { number: 2, type: "TaskLeased", task: "only", attempt: 1, leaseVersion: 1 },
    { number: 3, type: "StepRecorded", task: "only", step: "plan/1", leaseVersion: 1 },
    { number: 4, type: "TaskCompleted", payload: { contentType: "application/json" } },
    { number: 5, type: "RunClosed", detail: "The run is COMPLETED." },
  ]);
});

const event: WatchedEvent = {
  runNumber: 1,
  runId: "r",
  workflow: "w",
  incarnation: 1,
  taskName: () => "t",
  operationKey: () => "",
  proposal: () => undefined,
  obligation: () => undefined,
  review: () => undefined,
  event: { sequence: 1, number: 1, atMs: 1, body: { case: "taskReady", value: { task: 0 } } },
};

const idleWatcher: Watcher = {
  position: Uint8Array.of(0),
  close: () => undefined,
  taken: () => undefined,
};

test("a watcher that is too slow is ended with the position to go on from", async () => {
  const slow = await openTestServer({
    before: (kernel) =>
      override(kernel, {
        watchRun: (_target, _position, listener) => {
          listener.events([event], Uint8Array.of(1), 100);
          listener.end("slow", Uint8Array.of(2));
          return Promise.resolve(idleWatcher);
        },
      }),
  });
  const positions: Uint8Array[] = [];
  const end = await (async () => {
    for await (const message of slow.grpc.stream(run.watchRun, { runId: "r" })) {
      positions.push(message.position);
    }
  })().catch((error: unknown) => error);
  expect(codeAndReason(end)).toBe("RESOURCE_EXHAUSTED PAWL_WATCHER_TOO_SLOW");
  expect(positions.map(([byte]) => byte).slice(-2)).toEqual([1, 2]);
  await slow.close();
});

test("a position whose events are gone is refused by name", async () => {
  const trimmed = await openTestServer({
    before: (kernel) =>
      override(kernel, {
        watchRuns: (_filter, _position, listener) => {
          listener.fail(
            new RejectionError({
              reason: "PAWL_POSITION_TRIMMED",
              message: "Expected …, but …. Next: ….",
            }),
          );
          return Promise.resolve(idleWatcher);
        },
      }),
  });
  const end = await (async () => {
    for await (const _ of trimmed.json.stream(run.watchRuns, {})) {
      // Only how it ends is looked at.
    }
  })().catch((error: unknown) => error);
  expect(codeAndReason(end)).toBe("OUT_OF_RANGE PAWL_POSITION_TRIMMED");
  await trimmed.close();
});

test("a watcher that never reads costs a bounded memory, and others are unharmed", async () => {
  const taken: number[] = [];
  let pushed = 0;
  let isOpen = true;
  const greedy = await openTestServer({
    before: (kernel) =>
      override(kernel, {
        watchRun: (_target, _position, listener) => {
          // As the kernel does: at most 4 MiB wait for a watcher, then it is ended.
          const bytes = 262_144;
          const detail = "x".repeat(bytes);
          const big: WatchedEvent = {
            ...event,
            event: {
              ...event.event,
              body: { case: "runFaulted", value: { command: "c", error: detail } },
            },
          };
          let untaken = 0;
          const push = (): void => {
            while (isOpen && untaken <= 4_194_304) {
              untaken += bytes;
              pushed += bytes;
              listener.events([big], Uint8Array.of(1), bytes);
              if (pushed > 256 * 1024 * 1024) {
                return;
              }
            }
            listener.end("slow", Uint8Array.of(2));
          };
          setImmediate(push);
          return Promise.resolve({
            ...idleWatcher,
            close: () => {
              isOpen = false;
            },
            taken: (more: number) => {
              untaken -= more;
              taken.push(more);
            },
          });
        },
      }),
  });
  const call = greedy.grpc.raw.makeServerStreamRequest(
    "/pawl.v1.RunService/WatchRun",
    (bytes: Buffer) => bytes,
    (bytes) => bytes,
    Buffer.from([0x12, 1, 0x72]),
  );
  call.pause();
  call.on("error", () => undefined);
  // While it does not read, everyone else is served.
  for (let round = 0; round < 20; round++) {
    await greedy.json.unary(run.listRuns, {});
  }
  expect(pushed).toBeLessThan(16 * 1024 * 1024);
  call.cancel();
  await greedy.close();
});

test("claims give what is there, or nothing once the wait is over", async () => {
  await server.grpc.unary(run.startRuns, { runs: [oneTask("a", "k"), oneTask("b", "k")] });
  const request = { sessionId: "s", serves: [{ kind: "k" }], once: true };
  const names: string[] = [];
  for await (const { offers } of server.json.stream(WorkerService.method.claimTasks, {
    ...{ ...request, tasksMax: 10 },
  })) {
    names.push(...offers.map(({ runId, handle }) => `${runId} ${handle}`));
  }
  expect(names).toEqual(["a 0", "b 0"]);
  for await (const { offers } of server.json.stream(WorkerService.method.claimTasks, request)) {
    names.push(...offers.map(({ runId }) => runId));
  }
  expect(names).toHaveLength(2);
  await server.grpc.unary(run.startRuns, { runs: [oneTask("c", "k2")] });
  expect((await claim(server.json, "k2")).runId).toBe("c");
});

test("a position that somebody made up is refused, and not told as damage of the log", async () => {
  const offer = await leasedRun(server.grpc, "r");
  const { position } = await server.grpc.unary(RunService.method.startRuns, {
    runs: [oneTask("s", "other")],
  });
  await complete(server.grpc, offer, "done");
  const firstTypes = async (from: Uint8Array): Promise<string[]> => {
    for await (const { events } of server.grpc.stream(run.watchRuns, { position: from })) {
      if (events.length > 0) {
        return events.map((each) => each.event?.type ?? "");
      }
    }
    return [];
  };
  const forged = Uint8Array.from(position);
  const last = forged.length - 1;
  forged[last] = (forged[last] ?? 0) ^ 1;
  const refused = await firstTypes(forged).catch((error: unknown) => error);
  expect(codeAndReason(refused)).toBe("INVALID_ARGUMENT PAWL_INVALID_POSITION");
  expect(await firstTypes(position)).toEqual(["TaskCompleted", "RunClosed"]);
});

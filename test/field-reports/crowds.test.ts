import { once } from "node:events";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { RunService, type StartRunSchema } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { complete, oneTask } from "../rpc/support/fixtures.js";
import { GrpcClient } from "../rpc/support/grpc-client.js";
import { TestWorker } from "../rpc/support/worker.js";
import { ClockedKernel } from "./support/clocked-kernel.js";
import { duration } from "./support/leases.js";
import { Processes } from "./support/processes.js";

const { method: run } = RunService;
const { method: work } = WorkerService;

/** Starts runs by the thousand. */
async function startMany(
  client: GrpcClient,
  count: number,
  makeStart: (index: number) => MessageInitShape<typeof StartRunSchema>,
): Promise<void> {
  const starts = Array.from({ length: count }, (_, index) => makeStart(index));
  while (starts.length > 0) {
    const { results } = await client.unary(run.startRuns, { runs: starts.splice(0, 1_000) });
    expect(results.filter(({ rejection }) => rejection !== undefined)).toEqual([]);
  }
}

describe("a queue in which fifty thousand wait, in a kernel that is killed", () => {
  const crowd = 50_000;
  /** What the report asks for, five times. */
  const firstClaimMs = 5 * 1_000;

  let processes: Processes;
  let clients: GrpcClient[];

  beforeEach(() => {
    processes = new Processes();
    clients = [];
  });

  afterEach(async () => {
    for (const client of clients) client.close();
    await processes.end();
  });

  function clientOf(port: number): GrpcClient {
    const client = new GrpcClient(port);
    clients.push(client);
    return client;
  }

  test("does not keep the ten of another queue waiting, nor starve them at a worker that serves both, and all of it is found", {
    timeout: 180_000,
  }, async () => {
    const kernel = await processes.kernel();
    const before = clientOf(kernel.port);
    await startMany(before, crowd, (index) => oneTask(`crowd-${index}`, "crowd"));
    await startMany(before, 10, (index) => oneTask(`few-${index}`, "few"));
    kernel.child.kill("SIGKILL");
    await once(kernel.child, "close");

    const again = await processes.kernel(kernel.port);
    const beginMs = performance.now();
    const client = clientOf(again.port);
    const claims = client.stream(work.claimTasks, {
      ...{ sessionId: "first", worker: "w", serves: [{ kind: "few" }], once: true },
      ...{ tasksMax: 1, wait: { seconds: 10n } },
    });
    const claimed: string[] = [];
    for await (const { offers } of claims) claimed.push(...offers.map(({ runId }) => runId));
    expect(performance.now() - beginMs).toBeLessThan(firstClaimMs);
    expect(claimed).toEqual(["few-0"]);

    await expect
      .poll(() => readMetric(again.url, 'pawl_queue_ready_tasks{.*kind="crowd"}'), {
        timeout: 60_000,
      })
      .toBe(crowd);
    // One slot for both queues, and one of them is never empty: they take turns.
    const worker = await TestWorker.connect(
      client,
      { sessionId: "both", serves: [{ kind: "crowd" }, { kind: "few" }] },
      { credits: 1 },
    );
    const served: string[] = [];
    while (served.length < 18) {
      const offer = await worker.offer();
      served.push(offer.runId.replace(/-.*/, ""));
      await complete(client, offer, 1);
      worker.send({ credits: 1 });
    }
    expect(served.filter((queue) => queue === "few")).toHaveLength(9);
    worker.stream.cancel();
  });
});

/** The value of the line of /metrics that begins so; undefined when there is none. */
async function readMetric(url: string, pattern: string): Promise<number | undefined> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const value = new RegExp(`^${pattern} (.+)$`, "m").exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
}

describe("twenty thousand leases that end in the same second", () => {
  const count = 20_000;
  const leaseMs = 60_000;
  const retry = { initialInterval: duration(0) };

  let clocked: ClockedKernel;

  beforeEach(async () => {
    clocked = await ClockedKernel.open();
  });

  afterEach(async () => {
    await clocked.close();
    expect(clocked.faults).toEqual([]);
  });

  /** Offers that a worker has received, each acknowledged, until it has so many; gives their runs with attempt and lease version. */
  async function receive(worker: TestWorker, wanted: number): Promise<Map<string, string>> {
    const offered = new Map<string, string>();
    while (offered.size < wanted) {
      const { offers } = await worker.receive();
      for (const { runId, attempt, leaseVersion } of offers) {
        expect(offered.has(runId)).toBe(false);
        offered.set(runId, `${attempt} ${leaseVersion}`);
      }
      if (offers.length > 0) worker.send({ acks: offers.map(({ handle }) => handle) });
    }
    return offered;
  }

  test("are all offered to others within the next second, and the lag is told meanwhile", {
    timeout: 180_000,
  }, async () => {
    const timeouts = { lease: duration(leaseMs) };
    await startMany(clocked.grpc, count, (index) =>
      oneTask(`r${index}`, "k", {
        plan: { tasks: [{ name: "only", kind: "k", timeouts, retry }] },
      }),
    );
    const silent = await TestWorker.connect(clocked.grpc, {}, { credits: count });
    const first = await receive(silent, count);
    expect(new Set(first.values())).toEqual(new Set(["1 1"]));
    // Behind the last acknowledgement. It says no more from here on.
    silent.send({ ping: 7 });
    await silent.receiveWhere(({ pong }) => pong === 7);

    await clocked.time.pass(leaseMs - 1_000, 500);
    expect(clocked.kernel.gauges()).toMatchObject({ leases: count, overdueMs: 0 });
    const hello = { sessionId: "other" };
    const other = await TestWorker.connect(clocked.grpc, hello, { credits: count });

    // Beyond their end in one leap: the loop stood still. It does a few thousand, then lets others have their turn.
    await clocked.time.pass(1_200);
    const { overdueMs } = clocked.kernel.gauges();
    expect(overdueMs).toBeGreaterThan(0);
    expect(overdueMs).toBeLessThanOrEqual(250);

    await clocked.time.pass(800, 50);
    // From here on time stands still: whatever comes now was due by now.
    const again = await receive(other, count);
    expect(new Set(again.values())).toEqual(new Set(["2 2"]));
    expect(clocked.kernel.gauges()).toMatchObject({ leases: count, overdueMs: 0 });
    silent.stream.cancel();
    other.stream.cancel();
  });
});

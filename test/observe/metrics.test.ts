import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { failNth } from "@pawl/server/log/fault-plan.js";
import type { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claim, complete, leasedRun, oneTask, json as payload } from "../rpc/support/fixtures.js";
import { TestWorker } from "../rpc/support/worker.js";
import {
  newDisk,
  type ObservedKernel,
  openObserved,
  readMetrics,
  startRuns,
} from "./support/observed-kernel.js";

let disk: MemoryDisk;
let observed: ObservedKernel;

beforeEach(async () => {
  disk = await newDisk();
  observed = await openObserved(disk);
});
afterEach(() => observed.close());

async function restart(): Promise<void> {
  await observed.close();
  observed = await openObserved(disk);
}

/** How many runs are open, once that is counted. */
async function openRuns(): Promise<number | undefined> {
  await expect
    .poll(async () => [...(await readMetrics(observed)).keys()])
    .toContain("pawl_open_runs");
  return (await readMetrics(observed)).get("pawl_open_runs");
}

describe("/metrics", () => {
  test("counts commits, their events and bytes, and how long they were synced", async () => {
    const before = await readMetrics(observed);
    await startRuns(observed, ["a", "b", "c"]);
    const after = await readMetrics(observed);
    const grew = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0);
    expect(grew("pawl_events_total")).toBe(3);
    expect(grew("pawl_commit_sync_seconds_count")).toBe(1);
    expect(grew("pawl_commit_bytes_count")).toBe(1);
    expect(grew("pawl_commit_bytes_sum")).toBeGreaterThan(100);
    expect(grew("pawl_head_sequence")).toBe(3);
  });

  test("shows queues, leases and open runs as they are", async () => {
    await startRuns(observed, ["a", "b"]);
    await claim(observed.grpc, "kind-a");
    const metrics = await readMetrics(observed);
    const queue = (kind: string): string => `{namespace="default",queue="${kind}",kind="${kind}"}`;
    expect(metrics.get(`pawl_queue_ready_tasks${queue("kind-b")}`)).toBe(1);
    expect(metrics.has(`pawl_queue_ready_tasks${queue("kind-a")}`)).toBe(false);
    expect(metrics.get("pawl_leases")).toBe(1);
    expect(await openRuns()).toBe(2);
    expect(metrics.get("pawl_resident_runs")).toBe(2);
  });

  test("names at most 100 queues, and tells the others together", async () => {
    await startRuns(
      observed,
      Array.from({ length: 130 }, (_, index) => `r${index}`),
    );
    const names = [...(await readMetrics(observed)).keys()].filter((name) =>
      name.startsWith("pawl_queue_ready_tasks{"),
    );
    expect(names).toHaveLength(101);
    const others = '{namespace="_other",queue="_other",kind="_other"}';
    expect((await readMetrics(observed)).get(`pawl_queue_ready_tasks${others}`)).toBe(30);
  });

  test("counts each refusal once, by its reason, whoever made it and by whatever way it was told", async () => {
    const { grpc, json } = observed;
    const { startRuns: start, getRun } = RunService.method;
    await startRuns(observed, ["a"]);
    const other = oneTask("a", "kind-a", { input: payload({ a: 2 }) });
    await grpc.unary(start, { runs: [other] }); // Refused by the kernel, told per item.
    await expect(grpc.unary(getRun, { runId: "none" })).rejects.toThrow();
    await expect(json.unary(getRun, { runId: "none" })).rejects.toThrow();
    await expect(json.unary(getRun, { runId: "" })).rejects.toThrow(); // By the edge.
    const metrics = await readMetrics(observed);
    const rejections = (reason: string): number | undefined =>
      metrics.get(`pawl_rejections_total{reason="${reason}"}`);
    expect(rejections("PAWL_FINGERPRINT_CONFLICT")).toBe(1);
    expect(rejections("PAWL_RUN_NOT_FOUND")).toBe(2);
    expect(rejections("PAWL_INVALID_FIELD")).toBe(1);
  });

  test("counts streams by their method", async () => {
    const worker = await TestWorker.connect(observed.grpc, {});
    const metrics = await readMetrics(observed);
    expect(metrics.get('pawl_streams{method="Work"}')).toBe(1);
    expect(metrics.get("pawl_worker_sessions")).toBe(1);
    expect(metrics.get("pawl_connections")).toBeGreaterThanOrEqual(2);
    worker.stream.cancel();
  });

  test("knows after a restart how many runs are open, from rows and from the tail of the log", async () => {
    await startRuns(observed, ["stays", "ends-later", "ends-now"]);
    await complete(observed.grpc, await claim(observed.grpc, "kind-ends-now"), 1);
    await restart(); // The last checkpoint has put all of them into rows.
    expect(await openRuns()).toBe(2);
    await complete(observed.grpc, await claim(observed.grpc, "kind-ends-later"), 1);
    await startRuns(observed, ["new"]);
    expect(await openRuns()).toBe(2);
    await observed.kill(); // What came last is in the tail only.
    observed = await openObserved(disk);
    expect(await openRuns()).toBe(2);
  });
});

describe("/healthz and /readyz", () => {
  const status = async (path: string): Promise<number> => (await observed.json.fetch(path)).status;

  test("say ok while the kernel serves", async () => {
    await observed.kernel.openWorkKnown;
    expect(await status("/healthz")).toBe(200);
    expect(await status("/readyz")).toBe(200);
    expect(await (await observed.json.fetch("/readyz")).text()).toBe("ok\n");
  });

  test("say that a kernel whose store failed is neither", async () => {
    await observed.close();
    observed = await openObserved(disk, { faults: failNth("append", 1, "fail") });
    await expect(leasedRun(observed.grpc, "a")).rejects.toThrow();
    expect(await status("/healthz")).toBe(503);
    expect(await status("/readyz")).toBe(503);
  });

  test("take no other method", async () => {
    const { status: code, headers } = await observed.json.fetch("/metrics", { method: "DELETE" });
    expect(code).toBe(405);
    expect(headers.get("allow")).toBe("GET, HEAD");
  });
});

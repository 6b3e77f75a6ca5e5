import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { claim, complete, jsonText, oneTask } from "../rpc/support/fixtures.js";
import { GrpcClient } from "../rpc/support/grpc-client.js";
import { Processes } from "./support/processes.js";

const mib = 1_048_576;
const count = 2_500;
/** Less than the log has bytes, and than all its runs take as objects. */
const heapMib = 56;

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

async function readMetric(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^${name} (.+)$`, "m").exec(text)?.[1]);
}

function folderBytes(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

test("a log of more than the memory that a kernel may use is opened after a kill, and all of it is served", {
  timeout: 480_000,
}, async () => {
  const kernel = await processes.kernel();
  const before = clientOf(kernel.port);
  // It cannot be compressed, and is different in each.
  const text = (): string => randomBytes(22_000).toString("base64");
  for (let from = 0; from < count; from += 100) {
    const runs = Array.from({ length: 100 }, (_, index) =>
      oneTask(`r${from + index}`, `kind-${from + index}`, {
        input: jsonText(`"${text()}"`),
      }),
    );
    await before.unary(RunService.method.startRuns, { runs });
  }
  kernel.child.kill("SIGKILL");
  await once(kernel.child, "close");
  expect(folderBytes(join(processes.folder, "data", "db"))).toBeGreaterThan(heapMib * mib);

  const again = await processes.kernel(kernel.port, heapMib);
  // It tells when it is through with what it found.
  for (const [name, value] of [
    ["pawl_open_work_known", 1],
    ["pawl_open_runs", count],
  ] as const) {
    await expect.poll(() => readMetric(again.url, name), { timeout: 240_000 }).toBe(value);
  }
  const used =
    (await readMetric(again.url, "nodejs_heap_size_used_bytes")) +
    (await readMetric(again.url, "nodejs_external_memory_bytes"));
  expect(used).toBeLessThan(2 * heapMib * mib);

  const client = clientOf(again.port);
  for (const index of [0, 1_250, count - 1]) {
    const offer = await claim(client, `kind-${index}`);
    expect(offer.runId).toBe(`r${index}`);
    await complete(client, offer, index);
  }
  let listed = 0;
  for (let pageToken = ""; ; ) {
    const page = await client.unary(RunService.method.listRuns, { pageSize: 1_000, pageToken });
    listed += page.runs.length;
    pageToken = page.nextPageToken;
    if (pageToken === "") break;
  }
  expect(listed).toBe(count);
  expect(again.child.exitCode).toBe(null);
});

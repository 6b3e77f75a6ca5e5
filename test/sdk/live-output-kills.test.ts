import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, connect, type OutputEvent } from "@pawl/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Processes } from "../field-reports/support/processes.js";
import { job, longJob } from "../field-reports/support/tasks.js";

let processes: Processes;
let clients: Client[];

beforeEach(() => {
  processes = new Processes();
  clients = [];
});

afterEach(async () => {
  await Promise.all(clients.map((client) => client.close({ drainMs: 0 })));
  await processes.end();
});

function connected(url: string): Client {
  const client = connect({ url, onConnection: () => undefined });
  clients.push(client);
  return client;
}

/** The next chunk; what comes before it goes to `others`. */
async function nextChunk(
  events: AsyncIterator<OutputEvent>,
  others: OutputEvent[] = [],
): Promise<OutputEvent & { kind: "chunk" }> {
  for (;;) {
    const { value } = await events.next();
    if (value === undefined) throw new Error("Expected a chunk, but the output has ended.");
    if (value.kind === "chunk") return value;
    others.push(value);
  }
}

test("a worker that is killed while it emits: readers are reset by the attempt that follows", async () => {
  const kernel = await processes.kernel();
  const client = connected(kernel.url);
  const run = await client.start(job, "x");
  const first = processes.worker({ behaviour: "chatty", url: kernel.url });
  const events = run.output({ task: "main" })[Symbol.asyncIterator]();
  expect(await nextChunk(events)).toMatchObject({ attempt: 1, number: 1, value: "live-marker-1" });
  first.child.kill("SIGKILL");
  await first.exit;
  const second = processes.worker({ behaviour: "chatty", url: kernel.url });
  const between: OutputEvent[] = [];
  let chunk = await nextChunk(events, between);
  while (chunk.attempt === 1) chunk = await nextChunk(events, between);
  expect(between).toEqual([{ kind: "reset", task: "main", attempt: 2, leaseVersion: 2 }]);
  expect(chunk).toMatchObject({ attempt: 2, leaseVersion: 2, number: 1, value: "live-marker-2" });
  second.child.kill("SIGUSR2");
  expect(await run.result()).toBe("output-marker-2");
});

test("a kernel that is killed while it streams: reader and attempt go on, and what is gone is counted", async () => {
  const kernel = await processes.kernel();
  const client = connected(kernel.url);
  const run = await client.start(longJob, "x");
  const worker = processes.worker({ behaviour: "chatty", url: kernel.url });
  const events = run.output()[Symbol.asyncIterator]();
  let chunk = await nextChunk(events);
  kernel.child.kill("SIGKILL");
  await once(kernel.child, "close");
  await processes.kernel(kernel.port);
  let reached = chunk.number;
  for (let more = 0; more < 200; more++) {
    const others: OutputEvent[] = [];
    chunk = await nextChunk(events, others);
    expect(others.every(({ kind }) => kind === "dropped")).toBe(true);
    for (const other of others) reached += other.kind === "dropped" ? other.count : 0;
    expect(chunk).toMatchObject({ attempt: 1, leaseVersion: 1, number: reached + 1 });
    reached = chunk.number;
  }
  worker.child.kill("SIGUSR2");
  expect(await run.result()).toBe("output-marker-1");
});

/** Every byte below a folder. */
function bytesBelow(folder: string): Buffer {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return Buffer.concat(files.map((file) => readFileSync(join(file.parentPath, file.name))));
}

test("nothing of live output is on disk", async () => {
  const kernel = await processes.kernel();
  const client = connected(kernel.url);
  const run = await client.start(longJob, "x");
  const worker = processes.worker({ behaviour: "chatty", url: kernel.url });
  const events = run.output()[Symbol.asyncIterator]();
  for (let count = 0; count < 20; count++) await nextChunk(events);
  worker.child.kill("SIGUSR2");
  expect(await run.result()).toBe("output-marker-1");
  // In order: the checkpoint is written too.
  kernel.child.kill("SIGTERM");
  await once(kernel.child, "close");
  const bytes = bytesBelow(join(processes.folder, "data"));
  expect(bytes.includes("output-marker-1")).toBe(true);
  expect(bytes.includes("live-marker")).toBe(false);
});

import { once, setMaxListeners } from "node:events";
import { type Client, connect } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Processes } from "./support/processes.js";
import { longJob } from "./support/tasks.js";

/** What the contract promises of a stop. Five times as long is a failure also on a slow and busy machine. */
const stopMs = 5_000;
const slack = 5;

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

describe("a kernel that is killed while a worker works", () => {
  test("finds the worker at work after its restart: the attempt goes on, and nothing is given out twice", async () => {
    const kernel = await processes.kernel();
    const worker = processes.worker({ behaviour: "long", url: kernel.url });
    await worker.says("ready");
    const client = connected(kernel.url);
    const run = await client.start(longJob, "x");
    await worker.says("attempt 1 lease 1");
    // Waits for the task all the time, and would take it.
    const rival = processes.worker({ behaviour: "long", url: kernel.url });
    await rival.says("ready");

    kernel.child.kill("SIGKILL");
    await once(kernel.child, "close");
    const again = await processes.kernel(kernel.port);
    expect(again.port).toBe(kernel.port);
    const other = await client.start(longJob, "y");
    await rival.says("attempt 1 lease 1");

    worker.child.kill("SIGUSR2");
    expect(await run.result()).toBe("attempt 1");
    rival.child.kill("SIGUSR2");
    expect(await other.result()).toBe("attempt 1");
    expect(worker.said().filter((line) => line !== "ready")).toEqual(["attempt 1 lease 1"]);
    expect(await run.task("main")).toMatchObject({ attempt: 1, leaseVersion: 1 });
  });
});

describe("a kernel that is asked to stop", () => {
  test("with a hundred watches and a worker at work ends in order within its time, and leaves the folder free", async () => {
    const kernel = await processes.kernel();
    const worker = processes.worker({ behaviour: "long", url: kernel.url });
    await worker.says("ready");
    const client = connected(kernel.url);
    const run = await client.start(longJob, "x");
    await worker.says("attempt 1");
    const { runs } = client.api;
    const controller = new AbortController();
    setMaxListeners(0, controller.signal);
    const watches = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const events = runs.watchRun({ runId: run.runId }, { signal: controller.signal });
        const iterator = events[Symbol.asyncIterator]();
        const first = await iterator.next();
        return { iterator, position: first.value?.position };
      }),
    );
    const ends = watches.map(async ({ iterator }) => {
      for (;;) {
        const { done } = await iterator.next();
        if (done === true) return "ended";
      }
    });
    const settled = Promise.allSettled(ends);

    const beginMs = performance.now();
    kernel.child.kill("SIGTERM");
    const { code, errors } = await kernel.end;
    expect({ code, inTime: performance.now() - beginMs < stopMs * slack }).toEqual({
      code: 0,
      inTime: true,
    });
    expect(errors).toContain("Stopping");
    for (const end of await settled) {
      expect(end).toMatchObject({ status: "rejected", reason: { code: 14 } });
    }

    await processes.kernel(kernel.port);
    worker.child.kill("SIGUSR2");
    expect(await run.result()).toBe("attempt 1");
  });
});

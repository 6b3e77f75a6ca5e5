import { type Client, connect, json, type PlanRef, plan, task } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openTestServer, type TestServer } from "../rpc/support/test-server.js";
import { waitUntil } from "../set-up/running.js";
import { BadNetwork } from "./support/bad-network.js";

let server: TestServer;
let proxy: BadNetwork;
let clients: Client[];

beforeEach(async () => {
  server = await openTestServer();
  proxy = await BadNetwork.open(server.server.port);
  clients = [];
});

afterEach(async () => {
  await Promise.all(clients.map((client) => client.close({ drainMs: 0 })));
  await proxy.close();
  await server.close();
  expect(server.faults).toEqual([]);
});

/** A client behind the proxy, or one that has the kernel for itself. */
function connected(url: string, more: { pingIntervalMs?: number; pingTimeoutMs?: number } = {}) {
  const client = connect({ url, onConnection: () => undefined, ...more });
  clients.push(client);
  return client;
}

const direct = (): Client => connected(`http://127.0.0.1:${server.server.port}`);

const echo = task("echo", { input: json<string>(), output: json<string>() });

/** How many runs the kernel has. */
async function countRuns(): Promise<number> {
  return (await direct().api.runs.listRuns({})).runs.length;
}

describe("a start whose answer is lost", () => {
  test("is sent again by the client itself, and there is one run", async () => {
    const client = connected(proxy.url);
    await connected(proxy.url).api.admin.getServerInfo({});
    await client.api.admin.getServerInfo({});
    proxy.swallowsAnswers = true;
    const starting = client.start(echo, "once");
    await waitUntil(async () => (await countRuns()) === 1, "the start to be durable");
    await waitUntil(() => proxy.swallowedBytes > 0, "the answer to be lost");
    proxy.swallowsAnswers = false;
    proxy.cut();

    const run = await starting;
    expect(run.existing).toBe(false);
    expect(await countRuns()).toBe(1);
  });

  test("under an id of the caller's is told to have existed, with the same id", async () => {
    const client = connected(proxy.url);
    await client.api.admin.getServerInfo({});
    proxy.swallowsAnswers = true;
    const starting = client.start(echo, "once", { runId: "order-1" });
    await waitUntil(async () => (await countRuns()) === 1, "the start to be durable");
    proxy.swallowsAnswers = false;
    proxy.cut();

    expect(await starting).toMatchObject({ runId: "order-1", existing: true, incarnation: 1 });
    expect(await countRuns()).toBe(1);
  });
});

describe("a start under an id that was used", () => {
  test("by a run that failed says that it exists, and its result is the failure that is recorded", async () => {
    const failing = task("failing", { input: json<string>(), retry: { attempts: 1 } });
    const client = direct();
    await client.worker({
      serve: [
        failing.run(() => {
          throw new Error("no such account");
        }),
      ],
    });
    const first = await client.start(failing, "a", { runId: "r" });
    await expect(first.result()).rejects.toMatchObject({ code: "PAWL_RUN_FAILED" });

    const second = await client.start(failing, "a", { runId: "r" });
    expect(second.existing).toBe(true);
    await expect(second.result()).rejects.toMatchObject({
      code: "PAWL_RUN_FAILED",
      failure: { cause: { message: "no such account" } },
    });
    await expect(client.start(failing, "b", { runId: "r" })).rejects.toMatchObject({
      code: "PAWL_FINGERPRINT_CONFLICT",
      rejection: {
        detail: { case: "fingerprintConflict", value: { entity: "run", differs: "input" } },
      },
    });
    await expect(client.start(echo, "a", { runId: "r" })).rejects.toMatchObject({
      code: "PAWL_FINGERPRINT_CONFLICT",
      rejection: { detail: { value: { differs: "workflow" } } },
    });
    expect((await first.get()).version).toBe((await second.get()).version);
  });
});

describe("a task that runs for longer than two leases", () => {
  const slow = task("slow", { output: json<number>(), timeouts: { lease: "2s" } });

  test("behind a proxy that cuts every idle connection is one attempt", async () => {
    proxy.idleMs = 150;
    const client = connected(proxy.url);
    let attempts = 0;
    await client.worker({
      serve: [
        slow.run(async (ctx) => {
          attempts++;
          // More than two leases of real time: what is looked at is that renewals get through meanwhile.
          const endMs = performance.now() + 4_500;
          while (performance.now() < endMs && !ctx.signal.aborted) {
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
          return ctx.attempt;
        }),
      ],
    });
    const run = await direct().start(slow);
    expect(await run.result()).toBe(1);
    expect(attempts).toBe(1);
    expect(await run.task("main")).toMatchObject({ attempt: 1, leaseVersion: 1 });
    expect(proxy.connections).toBeGreaterThan(3);
  });
});

describe("a connection that passes nothing any more, and says nothing of it", () => {
  test("is noticed by pings: a start gets through, a worker works on, and a watch misses nothing", async () => {
    const pings = { pingIntervalMs: 200, pingTimeoutMs: 300 };
    const client = connected(proxy.url, pings);
    await connected(proxy.url, pings).worker({ serve: [echo.run((_ctx, text) => text)] });
    const first = await client.start(echo, "before");
    expect(await first.result()).toBe("before");
    const twoSteps: PlanRef<string, string> = plan("two", {
      input: json<string>(),
      tasks: { one: { task: echo }, two: { task: echo, needs: ["one"] } },
      output: "two",
    });

    proxy.blackhole();
    const run = await client.start(twoSteps, "after");
    const numbers: number[] = [];
    for await (const { number } of run.watch()) {
      numbers.push(number);
      if (number === 2) proxy.blackhole();
    }
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    expect(numbers.length).toBeGreaterThan(5);
    expect(await run.result()).toBe("after");
  });
});

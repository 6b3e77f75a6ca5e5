import { type Client, connect } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { leaseRef } from "../rpc/support/fixtures.js";
import { TestWorker } from "../rpc/support/worker.js";
import { ClockedKernel } from "./support/clocked-kernel.js";
import { renew, report, startTask, taskOf } from "./support/leases.js";
import { Processes } from "./support/processes.js";
import { longJob } from "./support/tasks.js";

describe("a worker that is replaced by one of the same name", () => {
  let processes: Processes;
  let client: Client | undefined;

  beforeEach(() => {
    processes = new Processes();
  });

  afterEach(async () => {
    await client?.close({ drainMs: 0 });
    await processes.end();
  });

  test("takes nothing more once it drains, though it has room, and what it cannot end goes to the other at once without using an attempt", async () => {
    const kernel = await processes.kernel();
    client = connect({ url: kernel.url, onConnection: () => undefined });
    const old = processes.worker({ behaviour: "roomy", url: kernel.url });
    await old.says("ready");
    const first = await client.start(longJob, "first");
    await old.says("attempt 1 lease 1");
    const next = processes.worker({ behaviour: "roomy", url: kernel.url });
    await next.says("ready");

    old.child.kill("SIGTERM");
    await old.says("draining");
    const later = await Promise.all(
      Array.from({ length: 6 }, (_, index) => client?.start(longJob, `later ${index}`)),
    );
    // Four are as many as it can hold; it is told to end them over and over, until it has had them all.
    const ended = Promise.all([first, ...later].map((run) => run?.result()));
    let isOver = false;
    void ended.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      next.child.kill("SIGUSR2");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(await ended).toEqual(Array.from({ length: 7 }, () => "attempt 1"));
    await old.exit;
    const begun = (said: readonly string[]): string[] =>
      said.filter((line) => line.startsWith("attempt")).toSorted();
    expect(begun(old.said())).toEqual(["attempt 1 lease 1"]);
    expect(begun(next.said())).toEqual([
      ...Array.from({ length: 6 }, () => "attempt 1 lease 1"),
      "attempt 1 lease 2",
    ]);
    expect(await first.task("main")).toMatchObject({ attempt: 1, leaseVersion: 2 });
  });
});

describe("two workers of one name", () => {
  let clocked: ClockedKernel;

  beforeEach(async () => {
    clocked = await ClockedKernel.open();
  });

  afterEach(async () => {
    await clocked.close();
    expect(clocked.faults).toEqual([]);
  });

  const hello = { worker: "same", serves: [{ kind: "kind-r" }] };

  test("are two: what the one gave back while it drained is the other's, over restarts, and the first cannot take it back", async () => {
    const { grpc } = clocked;
    await startTask(grpc, "r");
    const old = await TestWorker.connect(grpc, { ...hello, sessionId: "old" }, { credits: 5 });
    const offer = await old.offer();
    const next = await TestWorker.connect(grpc, { ...hello, sessionId: "next" }, { credits: 5 });
    old.send({
      drain: true,
      releases: [{ correlation: 1, handle: offer.handle, leaseVersion: 1 }],
    });
    expect(await old.answer(1)).toBe("accepted");
    const given = await next.offer();
    expect(given).toMatchObject({ runId: "r", attempt: 1, leaseVersion: 2 });

    await clocked.kill();
    await clocked.start();
    await clocked.kernel.openWorkKnown;
    const held = { runId: "r", task: "only", leaseVersion: 2 };
    const back = await TestWorker.connect(
      clocked.grpc,
      { ...hello, sessionId: "next", holds: [{ ...held, handle: 9 }] },
      {},
    );
    expect(back.welcome.lostHandles).toEqual([]);
    // The old process is back as well, under its own session and the same name: neither its own lease nor the other's is its any more.
    const again = await TestWorker.connect(
      clocked.grpc,
      {
        ...{ ...hello, sessionId: "old" },
        holds: [
          { ...held, leaseVersion: 1, handle: 1 },
          { ...held, handle: 2 },
        ],
      },
      { credits: 5, drain: true },
    );
    expect(again.welcome.lostHandles.toSorted()).toEqual([1, 2]);
    expect(await renew(clocked.grpc, offer)).toBe("PAWL_LEASE_LOST");
    expect(await report(clocked.grpc, offer, { output: "old" })).toBe("PAWL_LEASE_LOST");
    expect(await renew(clocked.grpc, given)).toBeUndefined();
    expect(await report(clocked.grpc, given, { output: "next" })).toBe("accepted");
    expect(leaseRef(given)).toEqual(held);
    expect(await taskOf(clocked.grpc, "r")).toMatchObject({ attempt: 1, leaseVersion: 2 });
    for (const worker of [back, again]) worker.stream.cancel();
  });
});

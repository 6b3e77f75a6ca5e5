import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@pawl/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Processes } from "./support/processes.js";
import { job } from "./support/tasks.js";

const tenMinutesMs = 600_000;

let processes: Processes;

beforeEach(() => {
  processes = new Processes();
});

afterEach(async () => {
  await processes.end();
});

test("workers whose clocks are ten minutes behind and ahead keep their leases for longer than two of them last", async () => {
  const { url } = await processes.kernel();
  const workers = [-tenMinutesMs, tenMinutesMs].map((clockOffsetMs) =>
    processes.worker({ behaviour: "long", url, clockOffsetMs }),
  );
  await Promise.all(workers.map((worker) => worker.says("ready")));
  const client = connect({ url, onConnection: () => undefined });
  const runs = [await client.start(job, "a"), await client.start(job, "b")];
  await Promise.all(workers.map((worker) => worker.says("attempt 1")));
  // Real time is what this is about: two leases of two seconds.
  await sleep(4_500);
  for (const worker of workers) worker.child.kill("SIGUSR2");
  for (const run of runs) {
    expect(await run.result()).toBe("attempt 1");
    expect(await run.task("main")).toMatchObject({ attempt: 1, leaseVersion: 1 });
  }
  for (const worker of workers) {
    expect(worker.said()).toEqual(["ready", "attempt 1 lease 1"]);
  }
  await client.close();
});

import { type Client, connect } from "@pawl/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Processes } from "../field-reports/support/processes.js";
import { job } from "../field-reports/support/tasks.js";

let processes: Processes;
let client: Client | undefined;

beforeEach(() => {
  processes = new Processes();
});

afterEach(async () => {
  await client?.close({ drainMs: 0 });
  await processes.end();
});

test("two worker processes that want the same tasks do each one once, with one effect", async () => {
  const kernel = await processes.kernel();
  const rivals = [1, 2].map(() => processes.worker({ behaviour: "quick", url: kernel.url }));
  for (const rival of rivals) await rival.says("ready");
  client = connect({ url: kernel.url, onConnection: () => undefined });
  const starts = Array.from({ length: 40 }, (_, index) => client?.start(job, `job ${index}`));
  const runs = await Promise.all(starts);
  for (const run of runs) {
    expect(await run?.result()).toBe("quick after quick");
    expect(await run?.task("main")).toMatchObject({ attempt: 1, leaseVersion: 1 });
  }
  const calls = processes.sinkCalls();
  expect(calls).toHaveLength(40);
  expect(new Set(calls).size).toBe(40);
});

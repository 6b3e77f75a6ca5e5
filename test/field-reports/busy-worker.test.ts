import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { type Client, connect } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Processes } from "./support/processes.js";
import { job } from "./support/tasks.js";

let processes: Processes;
let client: Client;
let url: string;

beforeEach(async () => {
  processes = new Processes();
  ({ url } = await processes.kernel());
  client = connect({ url, onConnection: () => undefined });
});

afterEach(async () => {
  await client.close({ drainMs: 0 });
  await processes.end();
});

/** The only operation of the run. */
async function operationOf(runId: string) {
  const { operations } = await client.api.operations.listOperations({ runId });
  expect(operations).toHaveLength(1);
  return operations[0];
}

describe("a worker that blocks its own loop for longer than two leases", () => {
  test("notices before the effect that its lease is gone, and only the second worker's effect happens", async () => {
    const busy = processes.worker({ behaviour: "busy-before", url });
    await busy.says("ready");
    const run = await client.start(job, "50 cents");
    await busy.says("busy");
    const quick = processes.worker({ behaviour: "quick", url });

    expect(await run.result()).toBe("quick after quick");
    expect(await busy.says("stopped")).toBe("stopped LeaseLost");
    expect(processes.sinkCalls()).toEqual([`task/default/${run.runId}/1/main/charge/1`]);
    expect((await run.task("main")).leaseVersion).toBeGreaterThan(1);
    expect(await operationOf(run.runId)).toMatchObject({ status: OperationStatus.OBSERVED });
    expect(quick.said()).toEqual(["ready"]);
  });

  test("after its effect is believed: what it saw is recorded, and the second worker goes on from there", async () => {
    const busy = processes.worker({ behaviour: "busy-inside", url });
    await busy.says("ready");
    const run = await client.start(job, "50 cents");
    await busy.says("busy");
    processes.worker({ behaviour: "quick", url });

    expect(await run.result()).toBe("quick after busy-inside");
    expect(processes.sinkCalls()).toEqual([`task/default/${run.runId}/1/main/charge/1`]);
    expect(await operationOf(run.runId)).toMatchObject({ status: OperationStatus.OBSERVED });
    const types: string[] = [];
    for await (const { type } of run.watch()) types.push(type);
    expect(types.filter((type) => type === "TaskCompleted")).toHaveLength(1);
  });
});

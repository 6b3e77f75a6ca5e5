import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClockedKernel } from "../field-reports/support/clocked-kernel.js";
import { startTask, taskOf } from "../field-reports/support/leases.js";
import { json } from "../rpc/support/fixtures.js";
import { TestWorker } from "../rpc/support/worker.js";

const { method: run } = RunService;

let clocked: ClockedKernel;

beforeEach(async () => {
  clocked = await ClockedKernel.open();
});

afterEach(async () => {
  await clocked.close();
  expect(clocked.faults).toEqual([]);
});

const serves = [{ kind: "kind-r" }];
const leaseOfAnHour = { timeouts: { lease: { seconds: 3_600n } } };

/** A worker of its own session, with one slot. */
function worker(sessionId: string): Promise<TestWorker> {
  return TestWorker.connect(clocked.grpc, { sessionId, serves }, { credits: 1 });
}

/** Its next offer, as it came: nobody says that it was taken. */
async function offerOf(one: TestWorker) {
  const { offers } = await one.receiveWhere((message) => message.offers.length > 0);
  const [offer] = offers;
  if (offer === undefined) throw new Error("no offer");
  return offer;
}

describe("an offer that nobody acknowledges", () => {
  test("is given to another worker after 5 s, however long its lease, and uses no attempt", async () => {
    await startTask(clocked.grpc, "r", leaseOfAnHour);
    const deaf = await worker("deaf");
    const first = await offerOf(deaf);
    const other = await worker("other");
    await clocked.time.pass(4_900, 100);
    expect(await taskOf(clocked.grpc, "r")).toMatchObject({ leaseVersion: 1 });
    await clocked.time.pass(200, 100);
    expect(await deaf.lost(first.handle)).toBe("not-acknowledged");
    expect(await offerOf(other)).toMatchObject({ attempt: 1, leaseVersion: 2 });

    // What the first does about it after all comes too late.
    const { handle, leaseVersion } = first;
    const outcome = { case: "output", value: json("late") } as const;
    deaf.send({ reports: [{ handle, leaseVersion, correlation: 1, outcome }] });
    expect(await deaf.reason(1)).toBe("PAWL_LEASE_LOST");
  });

  test("five times in a row counts as one attempt, and then waits as after a failure", async () => {
    await startTask(clocked.grpc, "r", { ...leaseOfAnHour, retry: { attemptsMax: 2 } });
    const deaf = await worker("deaf");
    for (let time = 1; time <= 5; time++) {
      expect(await offerOf(deaf)).toMatchObject({ attempt: 1, leaseVersion: time });
      deaf.send({ credits: 1 });
      await clocked.time.pass(5_100, 100);
    }
    await clocked.time.pass(2_000, 100);
    expect(await offerOf(deaf)).toMatchObject({ attempt: 2, leaseVersion: 6 });
    const { run: view } = await clocked.grpc.unary(run.getRun, { runId: "r" });
    expect(view?.status).toBe(1);
  });
});

describe("an acknowledgement that is lost", () => {
  test("is made up for by anything else that the worker sends about the task", async () => {
    await startTask(clocked.grpc, "r", leaseOfAnHour);
    const one = await worker("one");
    const { handle, leaseVersion } = await offerOf(one);
    await clocked.time.pass(4_900, 100);
    one.send({
      steps: [
        {
          ...{ handle, leaseVersion, correlation: 1, name: "s" },
          outcome: { case: "value", value: json(1) },
        },
      ],
    });
    expect(await one.answer(1)).toBe("accepted");
    await clocked.time.pass(60_000, 1_000);
    expect(await taskOf(clocked.grpc, "r")).toMatchObject({ leaseVersion: 1, attempt: 1 });
  });

  test("with its connection is made up for by the hello that names the lease", async () => {
    await startTask(clocked.grpc, "r", leaseOfAnHour);
    const one = await worker("one");
    const { handle, leaseVersion } = await offerOf(one);
    one.stream.cancel();
    const holds = [{ handle, leaseVersion, runId: "r", task: "only" }];
    const again = await TestWorker.connect(clocked.grpc, { sessionId: "one", serves, holds });
    expect(again.welcome.lostHandles).toEqual([]);
    await clocked.time.pass(60_000, 1_000);
    again.send({ renewals: [handle] });
    expect(await taskOf(clocked.grpc, "r")).toMatchObject({ leaseVersion: 1, attempt: 1 });
  });
});

import type { MessageInitShape } from "@bufbuild/protobuf";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import {
  type StepItemSchema,
  type TaskWaitSchema,
  WorkerService,
} from "@pawl/proto/v1/worker_service_pb.js";
import { type Case, long, noRun, refused } from "./error-case.js";
import { claim, json, leasedRun, leaseRef } from "./fixtures.js";
import type { RpcClient } from "./rpc-client.js";

const { method: worker } = WorkerService;
const { method: run } = RunService;

/** A wait for update `move`. */
export const updateWait: MessageInitShape<typeof TaskWaitSchema> = {
  name: "move",
  subject: { case: "update", value: { update: "move" } },
};

const sent = { name: "move", updateId: "u1", payload: json({ to: "Bonn" }) };

/** Starts a run whose task waits for update `move`, sends it, and gives the lease under which it was taken. */
export async function takenUpdate(
  client: RpcClient,
  runId: string,
): Promise<ReturnType<typeof leaseRef>> {
  const lease = leaseRef(await leasedRun(client, runId));
  await client.unary(worker.suspend, { lease, waits: [updateWait] });
  await client.unary(run.updateRun, { runId, ...sent });
  return leaseRef(await claim(client, `kind-${runId}`));
}

/** The answer to update 0, accepted. */
export const acceptance: MessageInitShape<typeof StepItemSchema> = {
  name: "$answer",
  key: "0",
  answers: 0,
  outcome: { case: "value", value: json("moved") },
};

/** Every documented error of updates and queries that is a status. */
export const updateCases: readonly Case[] = [
  refused(run.updateRun, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({ ...noRun, ...sent })),
  refused(run.updateRun, "FAILED_PRECONDITION PAWL_RUN_OVER", ({ done }) => ({
    runId: done.runId,
    ...sent,
  })),
  refused(run.updateRun, "FAILED_PRECONDITION PAWL_STALE_VERSION", ({ open }) => ({
    runId: open.runId,
    ...sent,
    expectedVersion: 99,
  })),
  refused(run.updateRun, "FAILED_PRECONDITION PAWL_ILLEGAL_TRANSITION", ({ paused }) => ({
    runId: paused.runId,
    ...sent,
  })),
  {
    name: run.updateRun.name,
    expected: "FAILED_PRECONDITION PAWL_ILLEGAL_TRANSITION",
    run: async (client) => {
      const slow = { name: "only", kind: "kind-asked-to-stop", cancelGrace: { seconds: 600n } };
      const plan = { tasks: [slow], output: "only" };
      const { runId } = await leasedRun(client, "asked-to-stop", { plan });
      await client.unary(run.cancelRun, { runId });
      await client.unary(run.updateRun, { runId, ...sent });
    },
  },
  refused(run.updateRun, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    runId: open.runId,
    ...sent,
    updateId: "",
  })),
  refused(run.updateRun, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    runId: open.runId,
    ...sent,
    name: long,
  })),
  refused(run.updateRun, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    runId: open.runId,
    ...sent,
    wait: { seconds: 51n },
  })),
  {
    name: run.updateRun.name,
    expected: "ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT",
    run: async (client) => {
      const { runId } = await leasedRun(client, "updated-twice");
      await client.unary(run.updateRun, { runId, ...sent });
      await client.unary(run.updateRun, { runId, ...sent, payload: json({ to: "Kiel" }) });
    },
  },
  {
    name: run.updateRun.name,
    expected: "RESOURCE_EXHAUSTED PAWL_OVERLOADED",
    run: async (client) => {
      const { runId } = await leasedRun(client, "flooded-by-updates");
      const payload = json("x".repeat(30_000));
      for (let number = 0; number < 36; number++) {
        await client.unary(run.updateRun, { runId, name: "move", updateId: `u${number}`, payload });
      }
    },
  },
  {
    name: run.updateRun.name,
    expected: "FAILED_PRECONDITION PAWL_RUN_OVER",
    run: async (client) => {
      const { runId } = await takenUpdate(client, "ends-before-it-answers");
      const waiting = client.unary(run.updateRun, { runId, ...sent, wait: { seconds: 50n } });
      waiting.catch(() => undefined);
      await client.unary(run.terminateRun, { runId });
      await waiting;
    },
  },
  refused(run.getUpdate, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({ ...noRun, updateId: "u1" })),
  refused(run.getUpdate, "NOT_FOUND PAWL_UPDATE_NOT_FOUND", ({ open }) => ({
    runId: open.runId,
    updateId: "none",
  })),
  refused(run.getUpdate, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    runId: open.runId,
    updateId: "",
  })),
  {
    name: run.getUpdate.name,
    expected: "FAILED_PRECONDITION PAWL_RUN_OVER",
    run: async (client) => {
      const { runId } = await takenUpdate(client, "ended-before-it-answered");
      await client.unary(run.terminateRun, { runId });
      await client.unary(run.getUpdate, { runId, updateId: "u1" });
    },
  },
  refused(run.queryRun, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({ ...noRun, name: "status" })),
  refused(run.queryRun, "NOT_FOUND PAWL_QUERY_NOT_FOUND", ({ open }) => ({
    runId: open.runId,
    name: "status",
  })),
  refused(run.queryRun, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    runId: open.runId,
    name: "",
  })),
  refused(run.listQueries, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
];

/** Records one step, and gives how it was refused: its reason, or what became of it. */
async function recorded(
  client: RpcClient,
  lease: ReturnType<typeof leaseRef>,
  step: MessageInitShape<typeof StepItemSchema>,
): Promise<string> {
  const { results } = await client.unary(worker.recordSteps, { lease, steps: [step] });
  return results[0]?.rejection?.reason ?? "accepted";
}

/** Errors of steps that publish or answer, which come per item. */
export const updateItemCases: readonly {
  readonly name: string;
  readonly expected: string;
  readonly run: (client: RpcClient) => Promise<string>;
}[] = [
  {
    name: worker.recordSteps.name,
    expected: "PAWL_INVALID_FIELD",
    run: async (client) =>
      recorded(client, await takenUpdate(client, "answers-another"), { ...acceptance, answers: 7 }),
  },
  {
    name: worker.recordSteps.name,
    expected: "PAWL_FINGERPRINT_CONFLICT",
    run: async (client) => {
      const lease = await takenUpdate(client, "answers-twice");
      await recorded(client, lease, acceptance);
      return recorded(client, lease, { ...acceptance, key: "again" });
    },
  },
  {
    name: worker.recordSteps.name,
    expected: "PAWL_INVALID_FIELD",
    run: async (client) => {
      const lease = leaseRef(await leasedRun(client, "publishes-much"));
      return recorded(client, lease, publication(0, "x".repeat(40_000)));
    },
  },
  {
    name: worker.recordSteps.name,
    expected: "PAWL_TOO_LARGE",
    run: async (client) => {
      const lease = leaseRef(await leasedRun(client, "publishes-many"));
      for (let number = 0; number < 100; number++) {
        await recorded(client, lease, publication(number));
      }
      return recorded(client, lease, publication(100));
    },
  },
];

/** A step that publishes its number under a name of its own. */
function publication(
  number: number,
  content: unknown = number,
): MessageInitShape<typeof StepItemSchema> {
  const outcome = { case: "value", value: json(content) } as const;
  return { name: "$publish", key: `${number}`, publishes: `n${number}`, outcome };
}

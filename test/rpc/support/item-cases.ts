import type { MessageInitShape } from "@bufbuild/protobuf";
import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { long, lost, noRun, unknownRun, type World } from "./error-case.js";
import { json, leasedRun, leaseRef, oneTask } from "./fixtures.js";
import type { RpcClient } from "./rpc-client.js";

const { method: run } = RunService;
const { method: worker } = WorkerService;

/** A case whose refusal is inside the answer: one item of a batch. */
export interface ItemCase {
  readonly name: string;
  readonly expected: string;
  readonly run: (client: RpcClient, world: World) => Promise<string | undefined>;
}

const start = async (
  client: RpcClient,
  request: MessageInitShape<typeof run.startRuns.input>["runs"],
): Promise<string | undefined> =>
  (await client.unary(run.startRuns, { runs: request ?? [] })).results.at(-1)?.rejection?.reason;

const report = async (
  client: RpcClient,
  reports: MessageInitShape<typeof worker.reportOutputs.input>["reports"],
): Promise<string | undefined> =>
  (await client.unary(worker.reportOutputs, { reports: reports ?? [] })).results.at(-1)?.rejection
    ?.reason;

const output = { outcome: { case: "output", value: json(1) } } as const;

/** Every documented error that an item of a batch may have. */
export const itemCases: readonly ItemCase[] = [
  {
    name: "StartRuns",
    expected: "PAWL_INVALID_FIELD",
    run: (client) => start(client, [oneTask(long, "k")]),
  },
  {
    name: "StartRuns",
    expected: "PAWL_INVALID_FIELD",
    run: (client) => start(client, [oneTask("a", "k", { plan: { tasks: [] } })]),
  },
  {
    name: "StartRuns",
    expected: "PAWL_FINGERPRINT_CONFLICT",
    run: (client, { open }) => start(client, [oneTask(open.runId, "k", { input: json({ a: 2 }) })]),
  },
  {
    name: "AwaitResults",
    expected: "PAWL_RUN_NOT_FOUND",
    run: async (client) => {
      for await (const { results } of client.stream(run.awaitResults, { runIds: [unknownRun] })) {
        return results[0]?.rejection?.reason;
      }
      return undefined;
    },
  },
  {
    name: "ReportOutputs",
    expected: "PAWL_RUN_NOT_FOUND",
    run: (client) => report(client, [{ ...noRun, task: "only", leaseVersion: 1, ...output }]),
  },
  {
    name: "ReportOutputs",
    expected: "PAWL_TASK_NOT_FOUND",
    run: (client, { open }) => report(client, [{ ...leaseRef(open), task: "other", ...output }]),
  },
  {
    name: "ReportOutputs",
    expected: "PAWL_LEASE_LOST",
    run: (client, world) => report(client, [{ ...lost(world), ...output }]),
  },
  {
    name: "ReportOutputs",
    expected: "PAWL_INVALID_FIELD",
    run: (client, { open }) => report(client, [leaseRef(open)]),
  },
  {
    name: "ReportOutputs",
    expected: "PAWL_FINGERPRINT_CONFLICT",
    run: (client, { done }) =>
      report(client, [{ ...leaseRef(done), outcome: { case: "output", value: json("other") } }]),
  },
  {
    name: "ReportOutputs",
    expected: "PAWL_OPERATIONS_UNSETTLED",
    run: (client, { open }) => report(client, [{ ...leaseRef(open), ...output }]),
  },
  {
    name: "ReportOutputs",
    expected: "PAWL_PROPOSALS_OPEN",
    run: async (client) => {
      const offer = await leasedRun(client, "proposing");
      const action = { operation: "refund", target: "till", payload: json({ cents: 12 }) };
      const { proposeAction } = ApprovalService.method;
      await client.unary(proposeAction, { holder: leaseRef(offer), ...action });
      const outcome = { case: "continueAsNew", value: {} } as const;
      return report(client, [{ ...leaseRef(offer), outcome }]);
    },
  },
  {
    name: "RenewLeases",
    expected: "PAWL_LEASE_LOST",
    run: async (client, world) =>
      (await client.unary(worker.renewLeases, { leases: [lost(world)] })).results[0]?.rejection
        ?.reason,
  },
  {
    name: "RenewLeases",
    expected: "PAWL_RUN_NOT_FOUND",
    run: async (client) =>
      (
        await client.unary(worker.renewLeases, {
          leases: [{ ...noRun, task: "only", leaseVersion: 1 }],
        })
      ).results[0]?.rejection?.reason,
  },
  {
    name: "RecordSteps",
    expected: "PAWL_LEASE_LOST",
    run: async (client, world) =>
      (
        await client.unary(worker.recordSteps, {
          lease: lost(world),
          steps: [{ name: "s-lost", outcome: { case: "value", value: json(1) } }],
        })
      ).results[0]?.rejection?.reason,
  },
  {
    name: "RecordSteps",
    expected: "PAWL_FINGERPRINT_CONFLICT",
    run: async (client, { open }) =>
      (
        await client.unary(worker.recordSteps, {
          lease: leaseRef(open),
          steps: [
            { name: "s", outcome: { case: "value", value: json(1) } },
            { name: "s", outcome: { case: "value", value: json(2) } },
          ],
        })
      ).results[1]?.rejection?.reason,
  },
  {
    name: "RecordSteps",
    expected: "PAWL_INVALID_FIELD",
    run: async (client, { open }) =>
      (
        await client.unary(worker.recordSteps, {
          lease: leaseRef(open),
          steps: [{ name: "", outcome: { case: "value", value: json(1) } }],
        })
      ).results[0]?.rejection?.reason,
  },
];

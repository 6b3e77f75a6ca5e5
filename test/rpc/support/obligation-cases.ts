import type { MessageInitShape } from "@bufbuild/protobuf";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { long, lost, noRun, type World } from "./error-case.js";
import { json, leaseRef } from "./fixtures.js";
import type { ItemCase } from "./item-cases.js";
import type { RpcClient } from "./rpc-client.js";

const { method: worker } = WorkerService;

type Request = MessageInitShape<typeof worker.recordObligations.input>;
type Item = NonNullable<Request["obligations"]>[number];

type Order = NonNullable<Item["order"]>;

const signal = (value: unknown, name = "go"): Order => ({
  case: "signal",
  value: { signal: name, payload: json(value) },
});
const cancel = (reason: string): Order => ({ case: "cancel", value: { reason } });

const tell = async (
  client: RpcClient,
  lease: Request["lease"],
  ...obligations: readonly Item[]
): Promise<string | undefined> => {
  const sent = [...obligations];
  const { results } = await client.unary(worker.recordObligations, { lease, obligations: sent });
  return results.at(-1)?.rejection?.reason;
};

function refused(
  expected: string,
  run: (client: RpcClient, world: World) => Promise<string | undefined>,
): ItemCase {
  return { name: "RecordObligations", expected, run };
}

const item = { name: "tell-nobody", runId: "nobody", order: signal(1) };

const bad: readonly Item[] = [
  { ...item, name: "" },
  { ...item, key: "" },
  { ...item, runId: long },
  { name: "x", runId: "y" },
  { ...item, name: "large", order: signal("x".repeat(40_000)) },
  { ...item, name: "unnamed", order: signal(1, "") },
  { ...item, name: "unreasonable", order: cancel("x".repeat(1_001)) },
];

type ChildrenRequest = MessageInitShape<typeof worker.startChildren.input>;
type Child = NonNullable<ChildrenRequest["children"]>[number];

const start = async (
  client: RpcClient,
  lease: ChildrenRequest["lease"],
  ...children: readonly Child[]
): Promise<string | undefined> => {
  const sent = [...children];
  const { results } = await client.unary(worker.startChildren, { lease, children: sent });
  return results.at(-1)?.rejection?.reason;
};

const plan = { tasks: [{ name: "only", kind: "nobody-serves" }], output: "only" };
const child = { name: "part", workflow: "w", plan };

const badChildren: readonly Child[] = [
  { ...child, name: "" },
  { ...child, key: "" },
  { ...child, workflow: "" },
  { name: "x", workflow: "w" },
  { ...child, plan: { tasks: [] } },
  { ...child, input: json("x".repeat(40_000)) },
];

function refusedChild(
  expected: string,
  run: (client: RpcClient, world: World) => Promise<string | undefined>,
): ItemCase {
  return { name: "StartChildren", expected, run };
}

const childCases: readonly ItemCase[] = [
  refusedChild("PAWL_RUN_NOT_FOUND", (client) =>
    start(client, { ...noRun, task: "only", leaseVersion: 1 }, child),
  ),
  refusedChild("PAWL_TASK_NOT_FOUND", (client, { open }) =>
    start(client, { ...leaseRef(open), task: "other" }, child),
  ),
  refusedChild("PAWL_LEASE_LOST", (client, world) =>
    start(client, lost(world), { ...child, name: "other" }),
  ),
  refusedChild("PAWL_FINGERPRINT_CONFLICT", (client, { open }) =>
    start(client, leaseRef(open), child, { ...child, input: json(2) }),
  ),
  ...badChildren.map((one) =>
    refusedChild("PAWL_INVALID_FIELD", (client, { open }) => start(client, leaseRef(open), one)),
  ),
];

/** Every documented error of what is sent to other runs. */
export const obligationCases: readonly ItemCase[] = [
  refused("PAWL_RUN_NOT_FOUND", (client) =>
    tell(client, { ...noRun, task: "only", leaseVersion: 1 }, item),
  ),
  refused("PAWL_TASK_NOT_FOUND", (client, { open }) =>
    tell(client, { ...leaseRef(open), task: "other" }, item),
  ),
  refused("PAWL_LEASE_LOST", (client, world) =>
    tell(client, lost(world), { ...item, name: "other" }),
  ),
  refused("PAWL_FINGERPRINT_CONFLICT", (client, { open }) =>
    tell(client, leaseRef(open), item, { ...item, runId: "somebody" }),
  ),
  refused("PAWL_FINGERPRINT_CONFLICT", (client, { open }) =>
    tell(client, leaseRef(open), item, { ...item, order: signal(2) }),
  ),
  ...bad.map((one) =>
    refused("PAWL_INVALID_FIELD", (client, { open }) => tell(client, leaseRef(open), one)),
  ),
  ...childCases,
];

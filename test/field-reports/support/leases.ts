import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PlanTaskSchema } from "@pawl/proto/v1/plan_pb.js";
import type { Task } from "@pawl/proto/v1/run_pb.js";
import { RunService, type StartRunSchema } from "@pawl/proto/v1/run_service_pb.js";
import { type Offer, WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { claim, json, leaseRef, oneTask } from "../../rpc/support/fixtures.js";
import type { RpcClient } from "../../rpc/support/rpc-client.js";

const { method: run } = RunService;
const { method: work } = WorkerService;

/** A length of time as messages have it. */
export function duration(ms: number): { seconds: bigint; nanos: number } {
  return { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 };
}

/** What a run of one task is started with. */
export function startOf(
  runId: string,
  task: MessageInitShape<typeof PlanTaskSchema>,
): MessageInitShape<typeof StartRunSchema> {
  const kind = `kind-${runId}`;
  return oneTask(runId, kind, {
    plan: { tasks: [{ name: "only", kind, ...task }], output: "only" },
  });
}

/** Starts a run of one task and gives the reason for which it was refused; undefined when it was not. */
export async function startTask(
  client: RpcClient,
  runId: string,
  task: MessageInitShape<typeof PlanTaskSchema> = {},
): Promise<string | undefined> {
  const { results } = await client.unary(run.startRuns, { runs: [startOf(runId, task)] });
  return results[0]?.rejection?.reason;
}

/** Starts a run of one task with a lease of this length, claims it and acknowledges the claim. */
export async function holdTask(
  client: RpcClient,
  runId: string,
  task: MessageInitShape<typeof PlanTaskSchema> = {},
): Promise<Offer> {
  const base: MessageInitShape<typeof PlanTaskSchema> = { timeouts: { lease: duration(1_000) } };
  await startTask(client, runId, Object.assign(base, task));
  return await claimAndHold(client, runId);
}

/** Claims the only task of a run and acknowledges the claim. */
export async function claimAndHold(client: RpcClient, runId: string): Promise<Offer> {
  const offer = await claim(client, `kind-${runId}`);
  await renew(client, offer);
  return offer;
}

/** Claims what is there; undefined when nothing is. */
export async function claimNow(client: RpcClient, runId: string): Promise<Offer | undefined> {
  const request = { sessionId: "other", serves: [{ kind: `kind-${runId}` }], once: true };
  for await (const { offers } of client.stream(work.claimTasks, request)) {
    if (offers[0] !== undefined) return offers[0];
  }
  return undefined;
}

/** Renews a lease; the reason for which that was refused. */
export async function renew(client: RpcClient, offer: Offer): Promise<string | undefined> {
  const { results } = await client.unary(work.renewLeases, { leases: [leaseRef(offer)] });
  return results[0]?.rejection?.reason;
}

/** What came of a report: accepted, existing, or the reason of its refusal. */
export async function report(
  client: RpcClient,
  offer: Offer,
  outcome: { readonly output: unknown } | { readonly failure: string; retryAfterMs?: number },
): Promise<string> {
  const { results } = await client.unary(work.reportOutputs, {
    reports: [
      "output" in outcome
        ? { ...leaseRef(offer), outcome: { case: "output", value: json(outcome.output) } }
        : {
            ...leaseRef(offer),
            outcome: {
              case: "failure",
              value: { kind: "Broken", message: outcome.failure, retryable: true },
            },
            ...(outcome.retryAfterMs === undefined ? {} : { retryAfterMs: outcome.retryAfterMs }),
          },
    ],
  });
  const [result] = results;
  return result?.rejection?.reason ?? (result?.existing === true ? "existing" : "accepted");
}

/** The only task of a run. */
export async function taskOf(client: RpcClient, runId: string): Promise<Task> {
  const { task } = await client.unary(run.getTask, { runId, task: "only" });
  if (task === undefined) throw new Error("Expected a task in the answer.");
  return task;
}

/** Types of the recorded events of a run, in order. */
export async function eventsOf(client: RpcClient, runId: string): Promise<string[]> {
  const types: string[] = [];
  for await (const { events } of client.stream(run.getHistory, { runId })) {
    types.push(...events.map(({ type }) => type));
  }
  return types;
}

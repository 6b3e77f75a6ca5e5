import type { MessageInitShape } from "@bufbuild/protobuf";
import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import {
  type InputWaitSchema,
  type TaskWaitSchema,
  WorkerService,
} from "@pawl/proto/v1/worker_service_pb.js";
import { type Case, long, lost, noRun, refused } from "./error-case.js";
import { json, leasedRun, leaseRef } from "./fixtures.js";
import type { RpcClient } from "./rpc-client.js";

const { method: worker } = WorkerService;
const { method: run } = RunService;

/** A wait for time, by default an hour. */
export function timer(
  afterMs = 3_600_000,
  name = "pause",
): MessageInitShape<typeof TaskWaitSchema> {
  const due = { case: "afterMs", value: afterMs } as const;
  return { name, subject: { case: "timer", value: { due } } };
}

const waits = [timer()];

const tasks = [{ name: "child", kind: "k" }];

/** Of calls. */
const callCases: readonly Case[] = [
  refused(worker.callTasks, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({
    lease: { ...noRun, task: "only", leaseVersion: 1 },
    tasks,
  })),
  refused(worker.callTasks, "NOT_FOUND PAWL_TASK_NOT_FOUND", ({ open }) => ({
    lease: { ...leaseRef(open), task: "other" },
    tasks,
  })),
  refused(worker.callTasks, "FAILED_PRECONDITION PAWL_LEASE_LOST", (world) => ({
    lease: lost(world),
    tasks,
  })),
  refused(worker.callTasks, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ tasks })),
  refused(worker.callTasks, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
  })),
  refused(worker.callTasks, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    tasks: [...tasks, ...tasks],
  })),
  refused(worker.callTasks, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    tasks: [{ name: "child", kind: "k", needs: ["only"] }],
  })),
  refused(worker.callTasks, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    tasks: [{ name: "", kind: "k" }],
  })),
  refused(worker.callTasks, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    cancels: [long],
  })),
  refused(worker.callTasks, "ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT", ({ open }) => ({
    lease: leaseRef(open),
    tasks: [{ name: "only", kind: "k" }],
  })),
];

/** Of waits that begin while the lease stays. */
const declareCases: readonly Case[] = [
  refused(worker.declareWaits, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({
    lease: { ...noRun, task: "only", leaseVersion: 1 },
    waits,
  })),
  refused(worker.declareWaits, "NOT_FOUND PAWL_TASK_NOT_FOUND", ({ open }) => ({
    lease: { ...leaseRef(open), task: "other" },
    waits,
  })),
  refused(worker.declareWaits, "FAILED_PRECONDITION PAWL_LEASE_LOST", (world) => ({
    lease: lost(world),
    waits,
  })),
  refused(worker.declareWaits, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    waits: [],
  })),
  refused(worker.declareWaits, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    waits: [timer(-1)],
  })),
];

/** Every documented error of what concerns waiting that is a status. */
export const waitCases: readonly Case[] = [
  ...callCases,
  ...declareCases,
  refused(worker.suspend, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({
    lease: { ...noRun, task: "only", leaseVersion: 1 },
    waits,
  })),
  refused(worker.suspend, "NOT_FOUND PAWL_TASK_NOT_FOUND", ({ open }) => ({
    lease: { ...leaseRef(open), task: "other" },
    waits,
  })),
  refused(worker.suspend, "FAILED_PRECONDITION PAWL_LEASE_LOST", (world) => ({
    lease: lost(world),
    waits,
  })),
  refused(worker.suspend, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ waits })),
  refused(worker.suspend, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    waits: [],
  })),
  refused(worker.suspend, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    waits: [timer(), timer(5)],
  })),
  refused(worker.suspend, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    waits: [{ name: "nothing" }],
  })),
  refused(worker.suspend, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    waits: [timer(5, long)],
  })),
  refused(worker.suspend, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    waits: [timer(-1)],
  })),
  refused(worker.suspend, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    waits: [timer(Number.NaN)],
  })),
  {
    name: worker.suspend.name,
    expected: "ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT",
    run: async (client) => {
      const lease = leaseRef(await leasedRun(client, "suspended"));
      await client.unary(worker.suspend, { lease, waits });
      await client.unary(worker.suspend, { lease, waits: [timer(5, "another")] });
    },
  },
];

/** A request of Ann, by default for an object with a number `cents`. */
export function ask(
  parts: MessageInitShape<typeof InputWaitSchema> = {},
): MessageInitShape<typeof TaskWaitSchema> {
  const schema = JSON.stringify({
    type: "object",
    properties: { cents: { type: "integer" } },
    required: ["cents"],
  });
  const asked = Object.assign({ question: "How much?", addressee: "ann", schema }, parts);
  return { name: "ask", subject: { case: "input", value: asked } };
}

/** Starts a run whose task asks, and gives the id of its request. */
export async function askingRun(
  client: RpcClient,
  runId: string,
  parts: MessageInitShape<typeof InputWaitSchema> = {},
): Promise<string> {
  const lease = leaseRef(await leasedRun(client, runId));
  await client.unary(worker.suspend, { lease, waits: [ask(parts)] });
  const { inputs } = await client.unary(run.listInputs, { runId });
  return inputs[0]?.inputId ?? "";
}

const given = { case: "given", value: json({ cents: 5 }) } as const;

/** Every documented error of signals and input requests that is a status. */
export const messageCases: readonly Case[] = [
  refused(run.sendSignal, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({
    ...noRun,
    name: "go",
    requestId: "q",
  })),
  refused(run.sendSignal, "FAILED_PRECONDITION PAWL_RUN_OVER", ({ done }) => ({
    runId: done.runId,
    name: "go",
    requestId: "q",
  })),
  refused(run.sendSignal, "FAILED_PRECONDITION PAWL_STALE_VERSION", ({ open }) => ({
    runId: open.runId,
    name: "go",
    requestId: "q",
    expectedVersion: 99,
  })),
  refused(run.sendSignal, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    runId: open.runId,
    name: "go",
    requestId: "",
  })),
  refused(run.sendSignal, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    runId: open.runId,
    name: long,
    requestId: "q",
  })),
  {
    name: run.sendSignal.name,
    expected: "ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT",
    run: async (client) => {
      const { runId } = await leasedRun(client, "signalled");
      await client.unary(run.sendSignal, { runId, name: "go", requestId: "q", payload: json(1) });
      await client.unary(run.sendSignal, { runId, name: "go", requestId: "q", payload: json(2) });
    },
  },
  {
    name: run.sendSignal.name,
    expected: "RESOURCE_EXHAUSTED PAWL_OVERLOADED",
    run: async (client) => {
      const { runId } = await leasedRun(client, "flooded");
      const payload = json("x".repeat(30_000));
      for (let number = 0; number < 36; number++) {
        await client.unary(run.sendSignal, { runId, name: "go", requestId: `q${number}`, payload });
      }
    },
  },
  refused(worker.suspend, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    waits: [ask({ schema: '{"type":7}' })],
  })),
  refused(worker.suspend, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    waits: [ask({ question: "" })],
  })),
  refused(run.getInput, "NOT_FOUND PAWL_INPUT_NOT_FOUND", () => ({ inputId: "999-0" })),
  refused(run.getInput, "NOT_FOUND PAWL_INPUT_NOT_FOUND", () => ({ inputId: "nonsense" })),
  refused(run.getInput, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ inputId: "" })),
  refused(run.listInputs, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(run.listInputs, "INVALID_ARGUMENT PAWL_INVALID_PAGE_TOKEN", () => ({ pageToken: "zzz" })),
  refused(run.listInputs, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
    status: InputStatus.ANSWERED,
  })),
  refused(run.provideInput, "NOT_FOUND PAWL_INPUT_NOT_FOUND", () => ({
    inputId: "999-0",
    expectedVersion: 1,
    answer: given,
  })),
  ...answerCases([
    ["FAILED_PRECONDITION PAWL_STALE_VERSION", { expectedVersion: 2, answer: given }],
    ["INVALID_ARGUMENT PAWL_INVALID_FIELD", { answer: given }],
    ["INVALID_ARGUMENT PAWL_INVALID_FIELD", { expectedVersion: 1 }],
    [
      "INVALID_ARGUMENT PAWL_INVALID_FIELD",
      { expectedVersion: 1, answer: { case: "declined", value: "" } },
    ],
    [
      "INVALID_ARGUMENT PAWL_ANSWER_REFUSED",
      { expectedVersion: 1, answer: { case: "given", value: json({ cents: "five" }) } },
    ],
  ]),
  {
    name: run.provideInput.name,
    expected: "ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT",
    run: async (client) => {
      const inputId = await askingRun(client, "answered");
      await client.unary(run.provideInput, { inputId, expectedVersion: 1, answer: given });
      const answer = { case: "declined", value: "no" } as const;
      await client.unary(run.provideInput, { inputId, expectedVersion: 1, answer });
    },
  },
  {
    name: run.provideInput.name,
    expected: "FAILED_PRECONDITION PAWL_ILLEGAL_TRANSITION",
    run: async (client) => {
      const inputId = await askingRun(client, "withdrawn");
      await client.unary(run.cancelRun, { runId: "withdrawn" });
      await client.unary(run.provideInput, { inputId, expectedVersion: 1, answer: given });
    },
  },
];

function answerCases(
  cases: readonly (readonly [string, MessageInitShape<typeof run.provideInput.input>])[],
): Case[] {
  return cases.map(([expected, request], at) => ({
    name: run.provideInput.name,
    expected,
    run: async (client) => {
      const inputId = await askingRun(client, `asking-${at}`);
      await client.unary(run.provideInput, Object.assign({ inputId }, request));
    },
  }));
}

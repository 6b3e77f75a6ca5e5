import { create } from "@bufbuild/protobuf";
import { FailureSchema } from "@pawl/proto/v1/failure_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import {
  type Client,
  connect,
  json,
  plan,
  RunCancelled,
  RunFailed,
  task,
  WaitTimedOut,
} from "@pawl/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeKernel, type FakeSubmit } from "./support/fake-kernel.js";
import { jsonPayload } from "./support/payloads.js";

let kernel: FakeKernel;
let client: Client;

beforeEach(async () => {
  kernel = await FakeKernel.start();
  client = connect({ url: kernel.url, onConnection: () => undefined });
});

afterEach(async () => {
  await client.close({ drainMs: 0 });
  kernel.kill();
});

const greet = task("greet", { input: json<{ name: string }>(), output: json<{ text: string }>() });
const greeting = plan("greeting", {
  input: json<{ name: string }>(),
  tasks: { greet: { task: greet } },
  output: "greet",
});

/** Reads the next start. */
function nextStart(submit: FakeSubmit) {
  return submit.until((request) => request.starts[0]);
}

test("execute asks for the result with the start", async () => {
  const executing = client.execute(greeting, { name: "Ada" });
  const submit = await kernel.nextSubmit();
  const start = await nextStart(submit);
  expect(start.wait).toBe(true);
  const result = {
    runId: start.runId,
    incarnation: 1,
    status: RunStatus.COMPLETED,
    output: jsonPayload('{"text":"hi"}'),
  };
  submit.send({
    accepted: [start.correlation],
    results: [{ correlation: start.correlation, result }],
  });
  expect(await executing).toEqual({ text: "hi" });
});

test("a result that is waited for is asked for again after a restart", async () => {
  const waiting = client.run("old", greeting).result();
  const first = await (await kernel.nextSubmit()).until((request) => request.waits[0]);
  kernel.kill();
  await kernel.listen();
  const submit = await kernel.nextSubmit();
  const again = await submit.until((request) => request.waits[0]);
  expect(again).toMatchObject({ runId: "old", correlation: first.correlation });
  const result = { runId: "old", status: RunStatus.COMPLETED, output: jsonPayload("null") };
  submit.send({ results: [{ correlation: again.correlation, result }] });
  expect(await waiting).toBeNull();
});

test("a start with its result is, once acknowledged, only waited for on the next stream", async () => {
  const executing = client.execute(greeting, { name: "Ada" }, { runId: "mine" });
  const submit = await kernel.nextSubmit();
  const start = await nextStart(submit);
  submit.send({ accepted: [start.correlation] });
  // A second start is answered after the first one's acknowledgement was read.
  const second = client.start(greeting, { name: "B" }, { runId: "second" });
  const other = await nextStart(submit);
  submit.send({ accepted: [other.correlation] });
  await second;
  kernel.kill();
  await kernel.listen();
  const next = await kernel.nextSubmit();
  const message = await next.next();
  expect(message.starts).toEqual([]);
  expect(message.waits).toMatchObject([{ runId: "mine", correlation: start.correlation }]);
  const result = {
    runId: "mine",
    status: RunStatus.COMPLETED,
    output: jsonPayload('{"text":"x"}'),
  };
  next.send({ results: [{ correlation: start.correlation, result }] });
  expect(await executing).toEqual({ text: "x" });
});

test.each([
  [RunStatus.FAILED, RunFailed, "PAWL_RUN_FAILED"],
  [RunStatus.CANCELLED, RunCancelled, "PAWL_RUN_CANCELLED"],
])("a run that ended as %s throws its failure with its chain", async (status, type, code) => {
  const waiting = client.run("r").result();
  const submit = await kernel.nextSubmit();
  const { correlation } = await submit.until((request) => request.waits[0]);
  const failure = create(FailureSchema, {
    kind: "CardDeclined",
    code: "card_declined",
    message: "no funds",
    data: jsonPayload('{"limit":5}'),
    cause: { kind: "Inner", message: "deep" },
  });
  submit.send({ results: [{ correlation, result: { runId: "r", status, failure } }] });
  const error = await waiting.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(type);
  expect(error).toMatchObject({
    code,
    runId: "r",
    cause: {
      kind: "CardDeclined",
      code: "card_declined",
      data: { limit: 5 },
      cause: { kind: "Inner", message: "deep" },
    },
  });
});

test("a wait that timed out leaves the run alone and can be repeated", async () => {
  const run = client.run("r", greeting);
  await expect(run.result({ timeout: "20ms" })).rejects.toBeInstanceOf(WaitTimedOut);
  const submit = await kernel.nextSubmit();
  const { correlation } = await submit.until((request) => request.waits[0]);
  const waiting = run.result();
  const result = {
    runId: "r",
    status: RunStatus.COMPLETED,
    output: jsonPayload('{"text":"late"}'),
  };
  submit.send({ results: [{ correlation, result }] });
  expect(await waiting).toEqual({ text: "late" });
});

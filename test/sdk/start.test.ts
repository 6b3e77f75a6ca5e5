import { type Client, Conflict, connect, json, plan, task, WaitTimedOut } from "@pawl/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeKernel, type FakeSubmit } from "./support/fake-kernel.js";
import { textOf } from "./support/payloads.js";

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

test("sends the plan, the input and a fresh id, and resolves when the kernel has accepted", async () => {
  const starting = client.start(greeting, { name: "Ada" }, { labels: { team: "x" } });
  const submit = await kernel.nextSubmit();
  const start = await nextStart(submit);
  expect(start.runId).toMatch(/^[0-9a-f-]{36}$/);
  expect(start.workflow).toBe("greeting");
  expect(start.plan).toMatchObject({
    tasks: [{ name: "greet", kind: "greet", needs: [] }],
    output: "greet",
  });
  expect(textOf(start.input)).toBe('{"name":"Ada"}');
  expect(start.labels).toMatchObject([{ key: "team", value: "x" }]);
  submit.send({ accepted: [start.correlation] });
  const run = await starting;
  expect(run).toMatchObject({ runId: start.runId, existing: false, incarnation: 1 });
});

test("many starts of one tick leave in one message", async () => {
  const starting = Array.from({ length: 50 }, (_, number) =>
    client.start(greeting, { name: "x" }, { runId: `run-${number}` }),
  );
  const submit = await kernel.nextSubmit();
  const first = await submit.next();
  expect(first.starts).toHaveLength(50);
  submit.send({ accepted: first.starts.map((start) => start.correlation) });
  expect((await Promise.all(starting)).map((run) => run.runId)).toEqual(
    Array.from({ length: 50 }, (_, number) => `run-${number}`),
  );
});

test("a start that is not answered is sent again after a restart, with the same id and number", async () => {
  const starting = client.start(greeting, { name: "Ada" }, { runId: "mine" });
  const first = await nextStart(await kernel.nextSubmit());
  kernel.kill();
  await kernel.listen();
  const submit = await kernel.nextSubmit();
  const again = await nextStart(submit);
  expect(again.runId).toBe("mine");
  expect(again.correlation).toBe(first.correlation);
  submit.send({ started: [{ correlation: again.correlation, existing: true, incarnation: 1 }] });
  expect((await starting).existing).toBe(true);
});

test("a resent start under an id of the SDK's own is not called existing", async () => {
  const starting = client.start(greeting, { name: "Ada" });
  const first = await nextStart(await kernel.nextSubmit());
  kernel.kill();
  await kernel.listen();
  const submit = await kernel.nextSubmit();
  const again = await nextStart(submit);
  expect(again.runId).toBe(first.runId);
  submit.send({ started: [{ correlation: again.correlation, existing: true, incarnation: 1 }] });
  expect((await starting).existing).toBe(false);
});

test("another content under the same id is a typed conflict with both fingerprints", async () => {
  const starting = client.start(greeting, { name: "Ada" }, { runId: "mine" });
  const submit = await kernel.nextSubmit();
  const start = await nextStart(submit);
  const detail = {
    case: "fingerprintConflict" as const,
    value: {
      entity: "run",
      id: "mine",
      recorded: new Uint8Array(32),
      received: new Uint8Array(32).fill(1),
      differs: "input",
    },
  };
  submit.send({
    started: [
      {
        correlation: start.correlation,
        rejection: { reason: "PAWL_FINGERPRINT_CONFLICT", message: "differs", detail },
      },
    ],
  });
  const error = await starting.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Conflict);
  expect(error).toMatchObject({
    code: "PAWL_FINGERPRINT_CONFLICT",
    docs: "docs/errors/PAWL_FINGERPRINT_CONFLICT.md",
  });
});

test("a kernel without room is asked again", async () => {
  const starting = client.start(greeting, { name: "Ada" }, { runId: "mine" });
  const submit = await kernel.nextSubmit();
  const first = await nextStart(submit);
  submit.send({
    started: [
      {
        correlation: first.correlation,
        rejection: { reason: "PAWL_OVERLOADED", message: "full" },
      },
    ],
  });
  const again = await nextStart(submit);
  expect(again.correlation).toBe(first.correlation);
  submit.send({ accepted: [again.correlation] });
  await starting;
});

test("an empty id is refused and never means: make one", async () => {
  await expect(client.start(greeting, { name: "Ada" }, { runId: "" })).rejects.toMatchObject({
    code: "PAWL_DEFINITION_INVALID",
  });
});

test("an input that is not JSON is refused with its path, and nothing is sent", async () => {
  const loose = plan("loose", {
    input: json<{ at: string }>(),
    tasks: { t: { task: task("t", { input: json<{ at: string }>() }) } },
  });
  const wrong: { at: string } = JSON.parse('{"at":"x"}');
  Object.assign(wrong, { at: new Date(0) });
  await expect(client.start(loose, wrong)).rejects.toMatchObject({
    code: "PAWL_VALUE_REFUSED",
    path: "input.at",
  });
});

test("waiting for a kernel that is away ends with a reason when the caller says how long", async () => {
  kernel.kill();
  const error = await client
    .start(greeting, { name: "Ada" }, { timeout: "2s" })
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(WaitTimedOut);
  expect(String(error)).toContain("ECONNREFUSED");
  await kernel.listen();
});

test("a closed client refuses what comes and rejects what waits", async () => {
  const waiting = client.run("r").result();
  await kernel.nextSubmit();
  await client.close();
  await expect(waiting).rejects.toMatchObject({ code: "PAWL_CLOSED" });
  await expect(client.start(greeting, { name: "Ada" })).rejects.toMatchObject({
    code: "PAWL_CLOSED",
  });
});

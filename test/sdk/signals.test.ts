import { type Client, connect, Unavailable } from "@pawl/sdk";
import { inTime, type SteeredTime } from "@pawl/sdk/internal/time.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeKernel } from "./support/fake-kernel.js";
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

test("many signals of one tick leave in one message, and each gets its own answer", async () => {
  const sending = Array.from({ length: 50 }, (_, number) =>
    client.run(`run-${number}`).signal("go", { number }, { requestId: `q-${number}` }),
  );
  const submit = await kernel.nextSubmit();
  const { signals, starts, waits } = await submit.next();
  expect([signals.length, starts.length, waits.length]).toEqual([50, 0, 0]);
  expect(signals[7]).toMatchObject({ runId: "run-7", name: "go", requestId: "q-7" });
  expect(textOf(signals[7]?.payload)).toBe('{"number":7}');
  submit.send({
    signals: signals
      .map(({ correlation, runId }) => ({
        ...{ correlation, existing: runId === "run-3", version: Number(runId.slice(4)) + 1 },
      }))
      .reverse(),
  });
  const answers = await Promise.all(sending);
  expect(answers[3]).toEqual({ existing: true, version: 4 });
  expect(answers[49]).toEqual({ existing: false, version: 50 });
});

test("a signal that is not answered is sent again after a restart, under the same request id", async () => {
  const sending = client.run("r").signal("go", undefined, { expectedVersion: 3 });
  const first = (await (await kernel.nextSubmit()).next()).signals[0];
  kernel.kill();
  await kernel.listen();
  const submit = await kernel.nextSubmit();
  const again = (await submit.next()).signals[0];
  expect(again).toMatchObject({
    ...{ runId: "r", name: "go", expectedVersion: 3 },
    ...{ requestId: first?.requestId, correlation: first?.correlation },
  });
  expect(again?.payload).toBeUndefined();
  submit.send({
    signals: [{ correlation: again?.correlation ?? 0, existing: true, version: 3 }],
  });
  expect(await sending).toEqual({ existing: true, version: 3 });
});

test("a refusal rejects the one signal that it is about", async () => {
  const sending = ["gone", "there"].map((runId) => client.run(runId).signal("go"));
  const submit = await kernel.nextSubmit();
  const { signals } = await submit.next();
  const rejection = { reason: "PAWL_RUN_OVER", message: "It has ended." };
  submit.send({
    signals: signals.map(({ correlation, runId }) =>
      runId === "gone" ? { correlation, rejection } : { correlation, version: 1 },
    ),
  });
  await expect(sending[0]).rejects.toMatchObject({ code: "PAWL_RUN_OVER" });
  expect(await sending[1]).toEqual({ existing: false, version: 1 });
});

test("a signal for which there is no room now is sent again", async () => {
  const sending = client.run("r").signal("go");
  const submit = await kernel.nextSubmit();
  const correlation = (await submit.next()).signals[0]?.correlation ?? 0;
  const rejection = { reason: "PAWL_OVERLOADED", message: "No room." };
  submit.send({ signals: [{ correlation, rejection }] });
  expect((await submit.next()).signals[0]?.correlation).toBe(correlation);
  submit.send({ signals: [{ correlation, version: 1 }] });
  expect(await sending).toEqual({ existing: false, version: 1 });
});

test("long content has a call of its own, so that it holds up no others", async () => {
  const asked: unknown[] = [];
  kernel.onUnary("SendSignal", (request) => {
    asked.push(Reflect.get(Object(request), "requestId"));
    return { existing: false, version: 5 };
  });
  const text = "x".repeat(40_000);
  const answer = await client.run("r").signal("go", { text }, { requestId: "q" });
  expect([asked, answer.existing, answer.version]).toEqual([["q"], false, 5]);
});

test("a kernel that stays away is given up after 30 s by signals, and not by starts", async () => {
  let nowMs = 0;
  const time: SteeredTime = {
    monotonicMs: () => nowMs,
    wallMs: () => nowMs,
    after: (_delayMs, callback) => {
      const immediate = setImmediate(callback);
      return { cancel: () => clearImmediate(immediate) };
    },
  };
  const { waiting, sending } = inTime(time, () => {
    const run = client.run("r");
    return { waiting: run.result(), sending: run.signal("go") };
  });
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  waiting.then(over, over);
  await (await kernel.nextSubmit()).next();
  nowMs = 29_999;
  kernel.kill();
  await kernel.listen();
  expect((await (await kernel.nextSubmit()).next()).signals).toHaveLength(1);
  nowMs = 30_000;
  kernel.kill();
  await expect(sending).rejects.toBeInstanceOf(Unavailable);
  expect(isOver).toBe(false);
  await kernel.listen();
  const { signals, waits } = await (await kernel.nextSubmit()).next();
  expect([signals.length, waits.length]).toEqual([0, 1]);
});

import {
  type Client,
  Content,
  connect,
  DefinitionInvalid,
  NotFound,
  type OutputEvent,
  type Run,
  TooLarge,
  task,
  ValueRefused,
  workflow,
} from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { BadNetwork } from "../field-reports/support/bad-network.js";
import { ClockedKernel } from "../field-reports/support/clocked-kernel.js";
import { gate } from "./support/worker-bench.js";

let kernel: ClockedKernel;
let client: Client;

beforeEach(async () => {
  kernel = await ClockedKernel.open();
  client = connect({ url: kernel.url, onConnection: () => undefined });
});

afterEach(async () => {
  await client.close({ drainMs: 2_000 });
  await kernel.close();
  expect(kernel.faults).toEqual([]);
});

/** An event in few words. */
function wordsOf(event: OutputEvent): string {
  switch (event.kind) {
    case "chunk":
      return `${event.channel}#${event.number}: ${JSON.stringify(event.value)}`;
    case "reset":
      return `reset ${event.task} ${event.attempt}`;
    case "dropped":
      return `dropped ${event.count}`;
    case "end":
      return `end ${event.task} ${event.status}${event.forgotten ? " forgotten" : ""}`;
  }
}

async function readAll(run: Run, options: Parameters<Run["output"]>[0] = {}): Promise<string[]> {
  const words: string[] = [];
  for await (const event of run.output(options)) words.push(wordsOf(event));
  return words;
}

test("what a called task emits comes to readers like what one of the plan does", async () => {
  const began = gate();
  const wait = gate();
  const say = task("say").run(async (ctx) => {
    ctx.emit("a");
    began.open();
    await wait.promise;
    return "said";
  });
  const caller = workflow("caller", { version: 1 }).run((ctx) => ctx.call(say));
  await client.worker({ serve: [caller, say] });
  const run = await client.start(caller, undefined);
  await began.promise;
  const ofRun = readAll(run);
  const ofTask = readAll(run, { task: "say" });
  wait.open();
  expect(await ofTask).toEqual(['#1: "a"', "end say completed"]);
  expect(await ofRun).toEqual(['#1: "a"', "end say completed", "end  completed"]);
});

test("what a task emits comes to readers in order, before the end that it returns to", async () => {
  const say = task("say").run((ctx) => {
    for (const word of ["a", "b", "c"]) ctx.emit(word);
    ctx.emit({ tokens: 3 }, { channel: "usage" });
    return "said";
  });
  await client.worker({ serve: [say] });
  const run = await client.start(say, undefined);
  expect(await readAll(run)).toEqual([
    '#1: "a"',
    '#2: "b"',
    '#3: "c"',
    'usage#1: {"tokens":3}',
    "end main completed",
    "end  completed",
  ]);
  expect(await readAll(run, { channel: "usage", task: "main" })).toEqual([
    'usage#1: {"tokens":3}',
    "end main completed",
  ]);
  expect(await run.result()).toBe("said");
});

test("a reader sees chunks while the task runs, also those that it emits inside a step", async () => {
  const goOn = gate();
  const think = task("think").run((ctx) =>
    ctx.step("plan", async () => {
      ctx.emit("thinking");
      await goOn.promise;
      return 1;
    }),
  );
  await client.worker({ serve: [think] });
  const run = await client.start(think, undefined);
  const words: string[] = [];
  for await (const event of run.output()) {
    words.push(wordsOf(event));
    goOn.open();
  }
  expect(words).toEqual(['#1: "thinking"', "end main completed", "end  completed"]);
});

test("bytes come back as bytes, content as content, and a buffer may be used again at once", async () => {
  const paint = task("paint").run((ctx) => {
    const buffer = Uint8Array.of(1, 2, 3);
    ctx.emit(buffer);
    buffer.fill(9);
    ctx.emit(new Content("image/png", Uint8Array.of(4)));
    ctx.emit(null);
  });
  await client.worker({ serve: [paint] });
  const run = await client.start(paint, undefined);
  const values: unknown[] = [];
  for await (const event of run.output<unknown>({ task: "main" })) {
    if (event.kind === "chunk") values.push(event.value);
  }
  expect(values).toEqual([
    Uint8Array.of(1, 2, 3),
    new Content("image/png", Uint8Array.of(4)),
    null,
  ]);
});

test("an attempt that begins again resets its readers, and its numbers begin anew", async () => {
  const seen = gate();
  const flaky = task("flaky", { retry: { initial: "1ms" } }).run(async (ctx) => {
    ctx.emit(`attempt ${ctx.attempt}`);
    await seen.promise;
    if (ctx.attempt === 1) throw new Error("once more");
    return "done";
  });
  await client.worker({ serve: [flaky] });
  const run = await client.start(flaky, undefined);
  const words: string[] = [];
  for await (const event of run.output({ task: "main" })) {
    words.push(wordsOf(event));
    if (words.length === 1) {
      seen.open();
      void until(async () => (await run.task("main")).attempt === 2, 100);
    }
  }
  expect(words).toEqual([
    '#1: "attempt 1"',
    "reset main 2",
    '#1: "attempt 2"',
    "end main completed",
  ]);
});

/** Lets time pass until something holds. */
async function until(holds: () => Promise<boolean>, stepMs: number): Promise<void> {
  while (!(await holds())) await kernel.time.pass(stepMs);
}

describe("what cannot be emitted is refused where it is", () => {
  test.each([
    ["a date", (): unknown => new Date(0), ValueRefused],
    ["a chunk above 32 KiB", () => "x".repeat(32_768), TooLarge],
    ["bytes above 32 KiB", () => new Uint8Array(32_768), TooLarge],
  ])("%s", async (_name, make, kind) => {
    const wrong = task("wrong").run((ctx) => {
      const value: never = make() as never;
      expect(() => ctx.emit(value)).toThrow(kind);
      ctx.emit("fine");
    });
    await client.worker({ serve: [wrong] });
    const run = await client.start(wrong, undefined);
    expect(await readAll(run, { task: "main" })).toEqual(['#1: "fine"', "end main completed"]);
    await run.result();
  });

  test("a channel too many, or with too long a name", async () => {
    const wide = task("wide").run((ctx) => {
      expect(() => ctx.emit(1, { channel: "é".repeat(101) })).toThrow(DefinitionInvalid);
      for (let channel = 1; channel <= 64; channel++) ctx.emit(1, { channel: `c${channel}` });
      expect(() => ctx.emit(1, { channel: "one more" })).toThrow(DefinitionInvalid);
      ctx.emit(2, { channel: "c1" });
    });
    await client.worker({ serve: [wide] });
    const run = await client.start(wide, undefined);
    await run.result();
    expect(await readAll(run, { task: "main" })).toHaveLength(66);
  });

  test("a context that has closed", async () => {
    let late: () => void = () => undefined;
    const leaky = task("leaky").run((ctx) => {
      late = () => ctx.emit("late");
    });
    await client.worker({ serve: [leaky] });
    await (await client.start(leaky, undefined)).result();
    expect(late).toThrow("it has returned");
  });
});

test("a reader whose connection is cut goes on behind the last chunk that it has", async () => {
  const network = await BadNetwork.open(Number(new URL(kernel.url).port));
  const reader = connect({ url: network.url, onConnection: () => undefined });
  const turns = [gate(), gate()] as const;
  const long = task("long").run(async (ctx) => {
    ctx.emit(1);
    ctx.emit(2);
    await turns[0].promise;
    ctx.emit(3);
    await turns[1].promise;
    return "done";
  });
  await client.worker({ serve: [long] });
  const run = await client.start(long, undefined);
  const words: string[] = [];
  for await (const event of reader.run(run.runId).output()) {
    words.push(wordsOf(event));
    if (words.length === 2) {
      network.cut();
      turns[0].open();
    }
    if (words.length === 3) {
      network.cut();
      turns[1].open();
    }
  }
  expect(words).toEqual(["#1: 1", "#2: 2", "#3: 3", "end main completed", "end  completed"]);
  expect(network.connections).toBeGreaterThan(2);
  await reader.close();
  await network.close();
});

test("a chunk is a place to go on behind", async () => {
  const say = task("say").run((ctx) => {
    for (let number = 1; number <= 4; number++) ctx.emit(number);
  });
  await client.worker({ serve: [say] });
  const run = await client.start(say, undefined);
  for await (const event of run.output()) {
    if (event.kind !== "chunk" || event.number < 2) continue;
    expect(await readAll(run, { after: [event], task: "main" })).toEqual([
      "#3: 3",
      "#4: 4",
      "end main completed",
    ]);
    break;
  }
});

test("a run or task that is not there ends the reading with what it is", async () => {
  const none = client.run("none").output()[Symbol.asyncIterator]();
  await expect(none.next()).rejects.toBeInstanceOf(NotFound);
  const idle = task("idle").run(() => 1);
  const run = await client.start(idle, undefined);
  const noTask = run.output({ task: "other" })[Symbol.asyncIterator]();
  await expect(noTask.next()).rejects.toMatchObject({ code: "PAWL_TASK_NOT_FOUND" });
});

test("once: what is there, and no waiting; a signal ends the waiting", async () => {
  const goOn = gate();
  const open = task("open").run(async (ctx) => {
    ctx.emit("here");
    await ctx.step("emitted", { durable: true }, () => true);
    await goOn.promise;
  });
  await client.worker({ serve: [open] });
  const run = await client.start(open, undefined);
  await expect.poll(() => readAll(run, { once: true })).toEqual(['#1: "here"']);
  const abort = new AbortController();
  const reading = (async () => {
    for await (const _ of run.output({ signal: abort.signal })) abort.abort(new Error("enough"));
  })();
  await expect(reading).rejects.toThrow("enough");
  goOn.open();
  await run.result();
});

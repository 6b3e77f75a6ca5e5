import { type CallArguments, json, type ServedTask, workflow } from "@pawl/sdk";
import { type Content, echo } from "./workload.js";

/** Tells the bench something from inside a worker: one JSON line. Inside a step, so once. */
function tell(message: unknown): null {
  process.stdout.write(`${JSON.stringify(message)}\n`);
  return null;
}

/** The time that all processes of this machine share, in ms. */
export function sharedMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Three trivial steps. */
export const threeSteps: ServedTask<Content, Content> = workflow("bench.steps", {
  version: 1,
  input: json<Content>(),
}).run(async (ctx, input) => {
  const first = await ctx.step("first", () => input.content);
  const second = await ctx.step("second", () => first);
  return { content: await ctx.step("third", () => second) };
});

/** What a function over many called tasks gets. */
export interface MapInput extends Content {
  readonly width: number;
}

/** A map over called tasks, and their number. */
export const mapFan: ServedTask<MapInput, Content> = workflow("bench.mapfan", {
  version: 1,
  input: json<MapInput>(),
}).run(async (ctx, { content, width }) => {
  const items = Array.from({ length: width }, (_, index) => `${index}`);
  const sent: CallArguments<Content>[0] = { content };
  const done = await ctx.map("part", items, { key: (item) => item }, () => ctx.call(echo, sent));
  return { content: done.every(({ status }) => status === "ok") ? content : "failed" };
});

/** What the function of many steps gets. */
export interface HistoryInput {
  readonly steps: number;
  /** Number of the step in which its first execution stops for ever, so that its worker can be killed; 0: none. */
  readonly stopAt: number;
}

/** Many steps, one after another. Tells when it began, when each thousand was done, and when a step after a stop is made. */
export const history: ServedTask<HistoryInput, number> = workflow("bench.history", {
  version: 1,
  input: json<HistoryInput>(),
  timeouts: { lease: "1s" },
  retry: { attempts: 10, initial: "0s", workerLosses: 10 },
}).run(async (ctx, { steps, stopAt }) => {
  const { attempt } = ctx;
  tell({ at: 0, ms: sharedMs() });
  for (let step = 1; step <= steps; step++) {
    await ctx.step("step", { key: `${step}` }, async () => {
      if (step === stopAt && attempt === 1) {
        tell({ stopped: step });
        await new Promise(() => undefined);
      }
      if (step === stopAt) tell({ resumed: step, ms: sharedMs() });
      return step;
    });
    if (step % 1000 === 0) tell({ at: step, ms: sharedMs() });
  }
  return steps;
});

/** What the function that is woken gets. */
export interface WakeInput {
  readonly steps: number;
  readonly wakes: number;
}

/** Many steps, then signals, each followed by a step that tells when it is made. */
export const wake: ServedTask<WakeInput, number> = workflow("bench.wake", {
  version: 1,
  input: json<WakeInput>(),
}).run(async (ctx, { steps, wakes }) => {
  for (let step = 1; step <= steps; step++) {
    await ctx.step("step", { key: `${step}` }, () => step);
  }
  for (let turn = 1; turn <= wakes; turn++) {
    await ctx.waitSignal("go", { key: `${turn}` });
    await ctx.step("woken", { key: `${turn}` }, () => tell({ woken: turn, ms: sharedMs() }));
  }
  return wakes;
});

/** Waits for one signal. */
export const parked: ServedTask<Content, Content> = workflow("bench.parked", {
  version: 1,
  input: json<Content>(),
}).run(async (ctx, input) => {
  await ctx.waitSignal("go");
  return input;
});

/** The driver process: `node driver.js URL`. Reads one order a line, prints one answer a line. */
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { connect, type StartOptions } from "@pawl/sdk";
import type { DriverAnswer, DriverOrder } from "./driver-orders.js";
import { mapFan, threeSteps } from "./functions.js";
import { percentile, round } from "./percentile.js";
import { type Content, chainPlan, fanPlan, makeContent, queuePlan } from "./workload.js";

const latenciesMax = 100_000;
const [url = ""] = process.argv.slice(2);
const client = connect({ url });

function print(message: unknown): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** Starts a run and gives its output. */
type Execute = (input: Content, options: StartOptions) => Promise<Content>;

/** Starts one run and checks its output; the answer is how long it took, or undefined when it came out wrong. */
async function runOnce(execute: Execute): Promise<number | undefined> {
  const startMs = performance.now();
  const input = makeContent();
  const output = await execute(input, { runId: randomUUID() });
  return output.content === input.content ? performance.now() - startMs : undefined;
}

class Tally {
  completed = 0;
  wrong = 0;
  latencies: number[] = [];

  add(tookMs: number | undefined): void {
    if (tookMs === undefined) {
      this.wrong++;
      return;
    }
    this.completed++;
    if (this.latencies.length < latenciesMax) {
      this.latencies.push(tookMs);
    } else {
      this.latencies[this.completed % latenciesMax] = tookMs;
    }
  }

  answer(seconds: number): DriverAnswer {
    return {
      completed: this.completed,
      wrong: this.wrong,
      seconds: round(seconds),
      p50Ms: round(percentile(this.latencies, 0.5)),
      p99Ms: round(percentile(this.latencies, 0.99)),
      worstMs: round(percentile(this.latencies, 1)),
    };
  }
}

const loads: Readonly<Record<"queue" | "chain" | "steps", Execute>> = {
  queue: (input, options) => client.execute(queuePlan, input, options),
  chain: (input, options) => client.execute(chainPlan, input, options),
  steps: (input, options) => client.execute(threeSteps, input, options),
};

async function load(order: Extract<DriverOrder, { kind: "load" }>): Promise<DriverAnswer> {
  const execute = loads[order.plan];
  const beginMs = performance.now();
  const measureFromMs = beginMs + order.warmUpMs;
  const endMs = measureFromMs + order.measureMs;
  const middle = setTimeout(() => print({ mark: "middle" }), order.warmUpMs + order.measureMs / 2);
  const measuring = setTimeout(() => print({ mark: "measuring" }), order.warmUpMs);
  const tally = new Tally();
  const lane = async (): Promise<void> => {
    for (;;) {
      const tookMs = await runOnce(execute);
      const nowMs = performance.now();
      if (nowMs >= endMs) {
        return;
      }
      if (nowMs >= measureFromMs) {
        tally.add(tookMs);
      }
    }
  };
  await Promise.all(Array.from({ length: order.inFlight }, lane));
  clearTimeout(middle);
  clearTimeout(measuring);
  return tally.answer(order.measureMs / 1000);
}

async function fan(order: Extract<DriverOrder, { kind: "fan" }>): Promise<DriverAnswer> {
  const plan = fanPlan(order.width);
  const execute: Execute = (input, options) =>
    order.by === "plan"
      ? client.execute(plan, input, options)
      : client.execute(mapFan, { ...input, width: order.width }, options);
  const tally = new Tally();
  const beginMs = performance.now();
  for (let index = 0; index < order.times; index++) {
    tally.add(await runOnce(execute));
  }
  return tally.answer((performance.now() - beginMs) / 1000);
}

async function start(order: Extract<DriverOrder, { kind: "start" }>): Promise<DriverAnswer> {
  const tally = new Tally();
  const beginMs = performance.now();
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < order.count) {
      const runId = `${order.prefix}-${next++}`;
      const startMs = performance.now();
      const run = await client.start(queuePlan, makeContent(), { runId });
      tally.add(run.existing === true ? undefined : performance.now() - startMs);
    }
  };
  await Promise.all(Array.from({ length: 2000 }, lane));
  return tally.answer((performance.now() - beginMs) / 1000);
}

function carryOut(order: DriverOrder): Promise<DriverAnswer> {
  switch (order.kind) {
    case "load":
      return load(order);
    case "fan":
      return fan(order);
    case "start":
      return start(order);
  }
}

print({ ready: true });
for await (const line of createInterface({ input: process.stdin })) {
  print(await carryOut(JSON.parse(line) as DriverOrder));
}
await client.close();

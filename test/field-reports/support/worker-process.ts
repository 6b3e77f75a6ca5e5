/*
 * A worker in a process of its own: node worker-process.ts BEHAVIOUR URL SINK_FILE CLOCK_OFFSET_MS. It says what happens to it on
 * stdout, a line each.
 */
import { appendFileSync } from "node:fs";
import { connect, json, operation, type TaskContext } from "@pawl/sdk";
import { job, longJob, riskyJob } from "./tasks.js";

const [, , behaviour = "", url = "", sinkFile = "", clockOffsetMs = "0"] = process.argv;

/** The clock of this machine is wrong. */
const trueNow = Date.now;
Date.now = () => trueNow() + Number(clockOffsetMs);

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Blocks the event loop, as a computation does: no timer runs, no lease is renewed. */
function compute(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

const isBusyInside = behaviour === "busy-inside";

/** A sink that can be asked: a file that tells what was done. */
const charge = operation("charge", {
  payload: json<string>(),
  result: json<{ readonly by: string }>(),
  sink: { kind: "reconcilable", settle: "0ms" },
  callTimeout: "8s",
  lookup: () => "unknown",
  call: (op) => {
    appendFileSync(sinkFile, `${op.key}\n`);
    if (isBusyInside) {
      say("busy");
      compute(5_000);
    }
    return { by: behaviour };
  },
});

/** Records something first, so that the kernel knows that this attempt has begun. */
async function begin(ctx: TaskContext): Promise<void> {
  await ctx.step("begun", { key: String(ctx.attempt), durable: true }, () => true);
}

async function chargeOnce(ctx: TaskContext, input: string): Promise<string> {
  const { by } = await ctx.perform(charge, input, { target: "account" });
  return `${behaviour} after ${by}`;
}

const behaviours: Readonly<
  Record<string, (ctx: TaskContext, input: string) => Promise<string> | string>
> = {
  /** Charges at once. */
  quick: chargeOnce,
  /** Blocks for longer than two leases, then tries to charge. */
  "busy-before": async (ctx, input) => {
    await begin(ctx);
    say("busy");
    compute(5_000);
    try {
      return await chargeOnce(ctx, input);
    } catch (error) {
      say(`stopped ${error instanceof Error ? error.name : "?"}`);
      throw error;
    }
  },
  /** Blocks for longer than two leases between the effect and its observation. */
  "busy-inside": async (ctx, input) => {
    await begin(ctx);
    return chargeOnce(ctx, input);
  },
  /** Dies as nothing can catch it. */
  abort: async (ctx, input) => {
    await begin(ctx);
    return input === "poison" ? process.abort() : input;
  },
  /** The same, in its first statement, before anything of it has left. */
  "abort-at-once": (_ctx, input) => (input === "poison" ? process.abort() : input),
  /** Shows something all the time, until it is told to end by SIGUSR2. */
  chatty: async (ctx) => {
    say(`attempt ${ctx.attempt} lease ${ctx.leaseVersion}`);
    await new Promise<void>((resolve) => {
      const ticks = setInterval(() => ctx.emit(`live-marker-${ctx.attempt}`), 10);
      process.once("SIGUSR2", () => {
        clearInterval(ticks);
        resolve();
      });
    });
    return `output-marker-${ctx.attempt}`;
  },
  /** Works until it is told to end by SIGUSR2. */
  long: async (ctx) => {
    say(`attempt ${ctx.attempt} lease ${ctx.leaseVersion}`);
    await new Promise<void>((resolve) => {
      const alive = setInterval(() => undefined, 1_000);
      process.once("SIGUSR2", () => {
        clearInterval(alive);
        resolve();
      });
      ctx.signal.addEventListener("abort", () => say(`aborted ${ctx.signal.reason.name}`));
    });
    return `attempt ${ctx.attempt}`;
  },
};

/** With room for others beside what it works at. */
const roomy = "roomy";

const handler = behaviours[behaviour === roomy ? "long" : behaviour];
if (handler === undefined) throw new Error(`no behaviour "${behaviour}"`);
const client = connect({ url, onConnection: () => undefined });
const runJob = async (ctx: TaskContext, input: string): Promise<string> => handler(ctx, input);
const worker = await client.worker({
  serve: [job.run(runJob), longJob.run(runJob), riskyJob.run(runJob)],
  slots: behaviour === roomy ? 4 : 1,
  name: behaviour,
});
// Told to end while nothing runs, it goes on.
process.on("SIGUSR2", () => undefined);
process.once("SIGTERM", () => {
  say("draining");
  void worker.close({ drainMs: 2_000 }).then(() => {
    say("closed");
    process.exit(0);
  });
});
say("ready");

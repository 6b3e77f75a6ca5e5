import { type Client, connect, json, operation, plan, type Run, task } from "@pawl/sdk";

interface Order {
  readonly name: string;
  /** Long enough in some orders to be kept apart from the log. */
  readonly padding: string;
}

/**
 * A small workload: runs of two tasks, the first with an effect at a sink that could neither repeat nor look up a call, the second waiting for a signal, for a
 * moment, and for an answer. Some signals come with the start of their run, before anything waits for them; each is sent twice.
 */
export interface Workload {
  /** Starts the runs, signals them and answers what they ask, one after the other. Resolves when all is acknowledged. */
  start(): Promise<void>;
  /** Starts so many runs that nobody works on, 30 KB each: what makes a log long. Resolves when all are acknowledged. */
  fill(runs: number): Promise<void>;
  /** Starts one more run that nobody works on, with content that is kept apart from the log. Each turn starts another. */
  startMore(turn: number): Promise<void>;
  /** Waits until all acknowledged runs have completed, and gives their outputs by run id. */
  outputs(): Promise<ReadonlyMap<string, string>>;
  /** Ids of the runs whose start was acknowledged. */
  readonly acknowledged: readonly string[];
  /** How often the sink was called, by operation key. */
  readonly calls: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

const runCount = 12;
/** Above the bound of what is kept inline. */
const longPadding = 40_000;
/** Below it. */
const fillingPadding = 30_000;
const fillingAtOnce = 50;

/** Connects a client and a worker to the kernel on this port. Both wait for it when it is away. */
export async function connectWorkload(port: number): Promise<Workload> {
  const calls = new Map<string, number>();
  const client: Client = connect({
    url: `http://127.0.0.1:${port}`,
    onConnection: () => undefined,
  });
  const { served, ordersPlan, unserved } = define(calls);
  const worker = client.worker({ serve: served, slots: 4 });
  const runs: Run<{ readonly said: string }>[] = [];
  return {
    calls,
    get acknowledged() {
      return runs.map(({ runId }) => runId);
    },
    start: async () => {
      for (let number = 0; number < runCount; number++) {
        const padding = "x".repeat(number % 4 === 0 ? longPadding : 0);
        const order = { name: `order ${number}`, padding };
        const withSignal = number % 3 === 0 ? { withSignal: signalOf(number) } : {};
        const options = { runId: `run-${number}`, ...withSignal };
        runs.push(await client.start(ordersPlan, order, options));
      }
      for (const [number, run] of runs.entries()) {
        const { name, payload, requestId } = signalOf(number);
        await run.signal(name, payload, { requestId });
        await run.signal(name, payload, { requestId });
      }
      await answerAll(client);
    },
    fill: async (wanted) => {
      const input = { name: "filling", padding: "x".repeat(fillingPadding) };
      for (let number = 0; number < wanted; number += fillingAtOnce) {
        const batch = Array.from({ length: fillingAtOnce }, (_, place) =>
          client.start(unserved, input, { runId: `filling-${number + place}` }),
        );
        await Promise.all(batch);
      }
    },
    startMore: async (turn) => {
      const input = { name: "more", padding: "x".repeat(longPadding) };
      await client.start(unserved, input, { runId: `more-${turn}` });
    },
    outputs: async () => {
      const said = new Map<string, string>();
      for (const run of runs) said.set(run.runId, (await run.result()).said);
      return said;
    },
    close: async () => {
      await (await worker).close({ drainMs: 0 });
      await client.close({ drainMs: 0 });
    },
  };
}

function signalOf(number: number) {
  return { name: "go", payload: `go ${number}`, requestId: `go-${number}` };
}

/** Answers what each run asks, once, until all were answered. */
async function answerAll(client: Client): Promise<void> {
  const answered = new Set<string>();
  while (answered.size < runCount) {
    for await (const { runId, inputId, version } of client.inputs.list({ addressee: "clerk" })) {
      await client.inputs.provide(inputId, `yes, ${runId}`, version);
      answered.add(runId);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function define(calls: Map<string, number>) {
  const send = operation("orders.send", {
    payload: json<Order>(),
    result: json<{ readonly sent: string }>(),
    sink: { kind: "opaque" },
    call: (op) => {
      calls.set(op.key, (calls.get(op.key) ?? 0) + 1);
      return { sent: op.payload.name };
    },
  });
  const effect = task("effect", { input: json<Order>(), output: json<{ sent: string }>() });
  const report = task("report", { output: json<{ said: string }>() });
  const ordersPlan = plan("orders", {
    input: json<Order>(),
    tasks: { effect: { task: effect }, report: { task: report, needs: ["effect"] } },
    output: "report",
  });
  const served = [
    effect.run((ctx, order) => ctx.perform(send, order, { target: "orders" })),
    report.run(async (ctx) => {
      const signal = await ctx.waitSignal<string>("go");
      await ctx.sleep("a moment", "20ms");
      const schema = { type: "string" };
      const answer = await ctx.ask<string>("fine?", {
        question: "Is it fine?",
        addressee: "clerk",
        schema,
      });
      const { sent } = ctx.dependency(effect, "effect");
      const heard = [signal, answer].map((it) => ("value" in it ? it.value : it.status));
      return { said: [`sent ${sent}`, ...heard].join("; ") };
    }),
  ];
  return { served, ordersPlan, unserved: task("unserved", { input: json<Order>() }) };
}

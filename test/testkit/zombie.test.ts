// A caller that is cut off, or frozen, in the middle of a call: what it sent may arrive when its successor has gone on.
import { json, type Operation, operation, type ServedTask, workflow } from "@pawl/sdk";
import { openTestEnvironment, type TestEnvironment } from "@pawl/sdk/testing";
import { expect, test } from "vitest";

/** A sink whose first call hangs on the way, and arrives when the test says so. */
class SlowSink {
  readonly effects: string[] = [];
  readonly lookUps: string[] = [];
  #answer: ((receipt: string) => void) | undefined;
  #isFirst = true;

  /** The first call never comes back by itself; every other acts at once. */
  act(key: string): Promise<string> {
    if (!this.#isFirst) {
      this.effects.push(key);
      return Promise.resolve("second");
    }
    this.#isFirst = false;
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  /** What was on its way takes effect; whoever called may still be there to hear it. */
  arrive(key: string): void {
    this.effects.push(key);
    this.#answer?.("first");
  }

  find(key: string): { readonly found: string } | "absent" {
    const answer = this.effects.includes(key) ? { found: "first" } : "absent";
    this.lookUps.push(answer === "absent" ? answer : "found");
    return answer;
  }
}

function payAt(sink: SlowSink): Operation<number, string> {
  return operation("pay", {
    payload: json<number>(),
    result: json<string>(),
    callTimeout: "10s",
    sink: { kind: "reconcilable", settle: "20s" },
    call: (op) => sink.act(op.key),
    lookup: (op) => sink.find(op.key),
  });
}

function paysAt(sink: SlowSink): ServedTask<undefined, string> {
  const pay = payAt(sink);
  return workflow("pays", {
    version: 1,
    output: json<string>(),
    timeouts: { lease: "2s" },
    retry: { attempts: 10, initial: "100ms", max: "1s" },
  }).run((ctx) => ctx.perform(pay, 5, { target: "bank" }));
}

/** Begins the call, and kills its caller while it is on its way. */
async function killInTheCall(env: TestEnvironment, served: ServedTask<undefined, string>) {
  await env.worker({ serve: [served] });
  const run = await env.kernel.start(served, undefined, { runId: "r" });
  await env.advance("1s");
  const { operations } = await env.kernel.api.operations.listOperations({ runId: "r" });
  await env.crash({ kill: "worker" });
  return { run, key: operations[0]?.key ?? "" };
}

test("a dead caller's call that arrives before its settle time is over is found: nobody looked before", async () => {
  const sink = new SlowSink();
  await using env = await openTestEnvironment();
  const { run, key } = await killInTheCall(env, paysAt(sink));
  // The call may go on until 10 s, and act until 30 s: the successor has the task by now, and waits.
  await env.advance("26s");
  expect(sink.lookUps).toEqual([]);
  sink.arrive(key);
  expect(await run.result()).toBe("first");
  expect(sink.lookUps).toEqual(["found"]);
  expect(sink.effects).toEqual([key]);
});

test("one that arrives later than its sink said it could acts beside its successor's, which is what counts", async () => {
  const sink = new SlowSink();
  await using env = await openTestEnvironment();
  const { run, key } = await killInTheCall(env, paysAt(sink));
  expect(await run.result()).toBe("second");
  expect(sink.lookUps).toEqual(["absent"]);
  sink.arrive(key);
  await env.settle();
  // Whoever declared `settle` was wrong about the sink; what is recorded stays what it is.
  expect(sink.effects).toEqual([key, key]);
  expect(await run.result()).toBe("second");
});

test("one whose caller was only cut off, and that arrives after the look-up, changes nothing that is recorded", async () => {
  const sink = new SlowSink();
  const served = paysAt(sink);
  await using env = await openTestEnvironment();
  await env.worker({ serve: [served] });
  const run = await env.kernel.start(served, undefined, { runId: "r" });
  await env.advance("1s");
  const { operations } = await env.kernel.api.operations.listOperations({ runId: "r" });
  await env.crash({ kill: "kernel" });
  expect(await run.result()).toBe("second");
  sink.arrive(operations[0]?.key ?? "");
  await env.settle();
  const { operation: settled } = await env.kernel.api.operations.getOperation({
    key: operations[0]?.key ?? "",
  });
  expect(settled?.result).toBeDefined();
  expect(await run.result()).toBe("second");
});

import { create } from "@bufbuild/protobuf";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { RecordedNameSchema, RecordKind } from "@pawl/proto/v1/worker_service_pb.js";
import { json, type WorkflowContext, workflow } from "@pawl/sdk";
import { Recorded } from "@pawl/sdk/internal/functions/recorded.js";
import { openTestEnvironment } from "@pawl/sdk/testing";
import { describe, expect, test } from "vitest";

const key = { key: (item: string) => item };

/** Runs code that begins at its top each time it goes on; signals come as soon as nothing more happens. */
async function outputOf(
  code: (ctx: WorkflowContext) => Promise<string>,
  signals: readonly string[],
): Promise<string> {
  const mapping = workflow("mapping", {
    version: 1,
    output: json<string>(),
    retry: { attempts: 1 },
  }).run(code);
  await using env = await openTestEnvironment();
  await env.worker({ serve: [mapping], warmBytesMax: 0 });
  const run = await env.kernel.start(mapping, undefined, { runId: "m" });
  for (const name of signals) {
    await env.settle();
    await run.signal(name);
  }
  await env.settle();
  const { status, why } = await run.get();
  expect(status, why).toBe(RunStatus.COMPLETED);
  return await run.result();
}

describe("what the items of a map waited for is found again by code that begins at its top", () => {
  test("though each waits under the same key", async () => {
    const output = await outputOf(
      async (ctx) => {
        const got = await ctx.map("orders", ["a", "b"], key, async (item) => {
          await ctx.waitSignal(`paid-${item}`, { key: "once" });
          await ctx.waitSignal(`sent-${item}`, { key: "once" });
          return item;
        });
        await ctx.waitSignal("end", { key: "once" });
        return got.map((each) => each.key).join();
      },
      ["paid-a", "paid-b", "sent-b", "sent-a", "end"],
    );
    expect(output).toBe("a,b");
  });

  test("so that a version after it is a new place", async () => {
    const output = await outputOf(
      async (ctx) => {
        await ctx.map("orders", ["a"], key, () => ctx.waitSignal("paid"));
        return `${await ctx.version("new")}`;
      },
      ["paid"],
    );
    expect(output).toBe("true");
  });
});

test("a wait of one item stands in another place than one of another, whatever their keys", () => {
  const wait = (name: string) => ({ kind: "wait", name, key: "once" }) as const;
  const there = { kind: RecordKind.WAIT, name: "orders/a/paid", key: "once" };
  const recorded = new Recorded({
    recorded: [create(RecordedNameSchema, there)],
    outcomes: [],
    openCalls: [],
  });
  expect(recorded.contradicted(wait("orders/b/paid"))).toBeUndefined();
  expect(recorded.contradicted(wait("orders/a/sent"))).toMatchObject(wait("orders/a/paid"));
});

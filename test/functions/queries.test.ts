import { json, openKernel, query, workflow } from "@pawl/sdk";
import { openTestEnvironment } from "@pawl/sdk/testing";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";

const each = eachEmbedded();
const timeout = { timeout: "2m" } as const;

interface Status {
  readonly phase: string;
  readonly left: number;
}
const status = query("status", json<Status>());

/** Publishes what it does around each wait. */
const cooking = workflow("cooking", { version: 1 }).run(async (ctx) => {
  ctx.publish(status, { phase: "begun", left: 2 });
  const salt = await ctx.step("salt", () => 3);
  ctx.publish(status, { phase: "salted", left: salt - 2 });
  ctx.publish("salt", salt);
  await ctx.waitSignal("stir");
  ctx.publish(status, { phase: "stirred", left: 0 });
  await ctx.waitSignal("serve");
  return "served";
});

describe.each([
  ["warm", 64 * 1024 * 1024],
  ["cold", 0],
] as const)("what a function that is %s publishes", (_name, warmBytesMax) => {
  test("is served while it waits, without a worker, while paused, and after the end; nothing is published anew", async () => {
    const worker = await each.kernel.worker({ serve: [cooking], warmBytesMax });
    const run = await each.kernel.start(cooking, undefined, { runId: "c" });
    await expect.poll(async () => (await run.get()).why).toContain('"stir"');
    const salted = await run.query(status);
    expect(salted.value).toEqual({ phase: "salted", left: 1 });
    expect(salted).toMatchObject({ version: 2, task: "main", attempt: 1, incarnation: 1 });
    await run.signal("stir");
    await expect.poll(async () => (await run.get()).why).toContain('"serve"');
    expect(await run.query(status)).toMatchObject({ value: { phase: "stirred" }, version: 3 });
    await worker.close();
    await run.pause();
    expect((await run.query("salt")).value).toBe(3);
    await run.resume();
    await each.kernel.close();
    each.kernel = await openKernel({ dir: each.dir });
    const again = each.kernel.run("c");
    expect(await again.query(status)).toMatchObject({ value: { phase: "stirred" }, version: 3 });
    await again.signal("serve");
    await each.kernel.worker({ serve: [cooking], warmBytesMax });
    await again.result(timeout);
    expect(await again.query(status)).toMatchObject({ value: { phase: "stirred" }, version: 3 });
    expect((await again.queries()).map(({ name, version }) => [name, version])).toEqual([
      ["salt", 1],
      ["status", 3],
    ]);
    const types: string[] = [];
    for await (const { detail } of again.watch()) if (/published/.test(detail)) types.push(detail);
    expect(types).toHaveLength(4);
  });
});

describe("ctx.publish", () => {
  test("says something new when code that runs again goes another way", async () => {
    let tries = 0;
    const fickle = workflow("fickle", { version: 1, retry: { attempts: 3, initial: "1ms" } }).run(
      async (ctx) => {
        ctx.publish("state", "begun");
        if (++tries === 1) {
          ctx.publish("state", "failed");
          throw new Error("not yet");
        }
        ctx.publish("state", "begun");
        return tries;
      },
    );
    await each.kernel.worker({ serve: [fickle] });
    const run = await each.kernel.start(fickle, undefined, { runId: "f" });
    await run.result(timeout);
    expect(await run.query("state")).toMatchObject({ value: "begun", version: 3, attempt: 2 });
  });

  test("of nothing, of too much, inside a step and under an unknown name is refused", async () => {
    const codes: unknown[] = [];
    const careless = workflow("careless", { version: 1 }).run(async (ctx) => {
      const note = (act: () => void): void => {
        try {
          act();
        } catch (thrown) {
          codes.push(Reflect.get(Object(thrown), "code"));
        }
      };
      note(() => ctx.publish("x", undefined as unknown as string));
      note(() => ctx.publish("x", "x".repeat(40_000)));
      note(() => ctx.publish("", "x"));
      await ctx.step("inside", () => {
        note(() => ctx.publish("x", 1));
        return null;
      });
      return null;
    });
    await each.kernel.worker({ serve: [careless] });
    const run = await each.kernel.start(careless, undefined, { runId: "c" });
    await run.result(timeout);
    expect(codes).toEqual([
      "PAWL_DEFINITION_INVALID",
      "PAWL_TOO_LARGE",
      "PAWL_DEFINITION_INVALID",
      "PAWL_CALL_INSIDE_STEP",
    ]);
    await expect(run.query("x")).rejects.toMatchObject({ code: "PAWL_QUERY_NOT_FOUND" });
  });

  test("of more names than a run may publish ends the attempt", async () => {
    const chatty = workflow("chatty", { version: 1, retry: { attempts: 1 } }).run(async (ctx) => {
      for (let at = 0; at <= 100; at++) ctx.publish(`n${at}`, at);
      await ctx.step("last", { durable: true }, () => null);
      return null;
    });
    await each.kernel.worker({ serve: [chatty] });
    const run = await each.kernel.start(chatty, undefined, { runId: "c" });
    await expect(run.result(timeout)).rejects.toThrow("100 names");
    expect(await run.queries()).toHaveLength(100);
  });

  test("an older value never takes the place of a newer one, whatever dies", async () => {
    for (const kill of ["worker", "kernel", "both"] as const) {
      await using env = await openTestEnvironment();
      env.crashAt({ when: "after", what: "step", name: "$publish/3" }, { kill });
      await env.worker({ serve: [cooking] });
      const run = await env.kernel.start(cooking, undefined, { runId: "c" });
      await env.advance("5m");
      expect(env.hasCrashed).toBe(true);
      expect(await run.query(status)).toMatchObject({ value: { phase: "salted" }, version: 2 });
      await env.crash({ kill });
      await run.signal("stir", undefined, { requestId: "s" });
      await env.advance("5m"); // Also the lease of a dead worker and the backoff after it.
      expect(await run.query(status)).toMatchObject({ value: { phase: "stirred" }, version: 3 });
    }
  });
});

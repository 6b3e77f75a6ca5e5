import { VersionMode } from "@pawl/proto/v1/version_pb.js";
import { type EmbeddedKernel, json, workflow } from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";
import { reviewOf } from "./support/change-code.js";

const each = eachEmbedded();
const timeout = { timeout: "2m" } as const;

/** Says which version ran before it waited for "go", and which one ran after. */
const orderAt = (version: number) =>
  workflow("order", { version }).run(async (ctx) => {
    const before = await ctx.step("before", () => version);
    await ctx.waitSignal("go");
    return `${before} then ${version}`;
  });
const order = workflow("order", { version: 9 });

const serve = (kernel: EmbeddedKernel, versions: readonly number[], warmBytes?: number) =>
  kernel.worker({
    serve: versions.map(orderAt),
    ...(warmBytes === undefined ? {} : { warmBytesMax: warmBytes }),
  });

async function start(runId: string, version: "current" | "follow" | number) {
  return await each.kernel.start(order, undefined, { runId, version });
}

async function untilWaiting(runId: string): Promise<void> {
  await expect
    .poll(async () => (await each.kernel.run(runId).get()).why, { timeout: 60_000 })
    .toContain('signal "go"');
}

describe("a run of the current version", () => {
  test("keeps the version that was current, and is found again by the same start", async () => {
    await expect(start("r", "current")).rejects.toMatchObject({ code: "PAWL_NO_CURRENT_VERSION" });
    await each.kernel.versions.set(order, 1);
    const run = await start("r", "current");
    await each.kernel.versions.set(order, 2);
    expect((await start("r", "current")).existing).toBe(true);
    expect(await run.get()).toMatchObject({ codeVersion: { version: 1 } });
    await using _worker = await serve(each.kernel, [1, 2]);
    await run.signal("go");
    expect(await run.result(timeout)).toBe("1 then 1");
    const named = await start("named", 2);
    await named.signal("go");
    expect(await named.result(timeout)).toBe("2 then 2");
  });
});

describe("a run that follows", () => {
  test.each([
    ["warm", undefined],
    ["cold", 0],
  ])("goes on with the version that is current when it is woken (%s)", async (_, bytes) => {
    await each.kernel.versions.set(order, 1);
    await using _worker = await serve(each.kernel, [1, 2], bytes);
    const run = await start("r", "follow");
    await untilWaiting("r");
    await each.kernel.versions.set(order, 2);
    await run.signal("go");
    expect(await run.result(timeout)).toBe("1 then 2");
    expect(await run.get()).toMatchObject({ codeVersion: { mode: VersionMode.FOLLOW } });
  });

  test("that waits for a worker goes on with the one that becomes current", async () => {
    await each.kernel.versions.set(order, 1);
    const run = await start("r", "follow");
    await run.signal("go");
    await using _worker = await serve(each.kernel, [2]);
    expect((await run.get()).why).toContain('serves kind "order@1", the current version, is');
    await each.kernel.versions.set(order, 2);
    expect(await run.result(timeout)).toBe("2 then 2");
  });

  test("whose new code does not fit its records stops for a review, and goes on with the old one", async () => {
    const asks = (version: number, name: string) =>
      workflow("asks", { version }).run(async (ctx) => {
        await ctx.waitSignal(name, { key: "k" });
        await ctx.waitSignal("end");
        return version;
      });
    await each.kernel.versions.set("asks", 1);
    await using _worker = await each.kernel.worker({ serve: [asks(1, "go"), asks(2, "stop")] });
    const run = await each.kernel.start(asks(1, "go"), undefined, {
      runId: "r",
      version: "follow",
    });
    await expect.poll(async () => (await run.get()).why).toContain('signal "go"');
    await each.kernel.versions.set("asks", 2);
    await run.signal("go");
    const review = await reviewOf(each.kernel, "r");
    expect(review.known).toContain("does not fit");
    await each.kernel.versions.set("asks", 1);
    await each.kernel.reviews.resolve(review, { choice: "retry", reason: "the old code is back" });
    await run.signal("end");
    expect(await run.result(timeout)).toBe(1);
  });
});

describe("a child", () => {
  const kidAt = (version: number) => workflow("kid", { version }).run(async () => version);
  const kid = workflow("kid", { version: 5 });
  const parentAt = (version: number) =>
    workflow("parent", { version, input: json<"inherits" | "current">() }).run(
      async (ctx, how): Promise<string> => {
        const child = await ctx.child(
          kidAt(5),
          undefined,
          how === "current" ? { version: "current" } : {},
        );
        return `${version} with ${child}`;
      },
    );

  test("inherits that its parent follows, or the version that its definition says", async () => {
    const { kernel } = each;
    await kernel.versions.set("parent", 1);
    await using _worker = await kernel.worker({
      serve: [parentAt(1), kidAt(5), kidAt(6)],
    });
    const begin = (runId: string, version: "current" | "follow", how: "inherits" | "current") =>
      kernel.start(parentAt(1), how, { runId, version });
    expect(await (await begin("a", "follow", "inherits")).result(timeout)).toBe("1 with 5");
    await kernel.versions.set(kid, 6);
    expect(await (await begin("b", "follow", "inherits")).result(timeout)).toBe("1 with 6");
    expect(await (await begin("c", "current", "inherits")).result(timeout)).toBe("1 with 5");
    expect(await (await begin("d", "current", "current")).result(timeout)).toBe("1 with 6");
  });

  test("of the same workflow goes by the version that runs", async () => {
    const { kernel } = each;
    const nestedAt = (version: number) =>
      workflow("nested", { version, input: json<number>() }).run(
        async (ctx, depth): Promise<string> => {
          if (depth === 0) return `${version}`;
          // The definition is of another version than the code that runs.
          const child = await ctx.child(
            workflow("nested", { version: 8, input: json<number>() }),
            depth - 1,
          );
          return `${version} ${String(child)}`;
        },
      );
    await using _worker = await kernel.worker({ serve: [nestedAt(3), nestedAt(8)] });
    const run = await kernel.start(nestedAt(3), 2, { runId: "n" });
    expect(await run.result(timeout)).toBe("3 3 3");
  });
});

describe("which version a run goes by", () => {
  const roundsAt = (version: number) =>
    workflow("rounds", { version, input: json<readonly number[]>() }).run(async (ctx, ran) => {
      await ctx.waitSignal("go");
      const all = [...ran, version];
      if (all.length < 2) return ctx.continueAsNew(all);
      return all;
    });

  test.each([
    ["current", [1, 1]],
    ["follow", [1, 2]],
  ] as const)("is the same in the next incarnation of its run (%s)", async (version, ran) => {
    const { kernel } = each;
    await kernel.versions.set("rounds", 1);
    await using _worker = await kernel.worker({ serve: [roundsAt(1), roundsAt(2)] });
    const run = await kernel.start(roundsAt(1), [], { runId: "r", version });
    await run.signal("go");
    await expect.poll(async () => (await run.get()).incarnation, { timeout: 60_000 }).toBe(2);
    await expect.poll(async () => (await run.get()).why).toContain('signal "go"');
    await kernel.versions.set("rounds", 2);
    await run.signal("go");
    expect(await run.result(timeout)).toEqual(ran);
  });
});

describe("what has no version", () => {
  test("cannot be started with one, nor a workflow with one that there cannot be", async () => {
    const { kernel } = each;
    const plain = { type: "task", name: "plain", schedule: {}, inputSchema: undefined } as const;
    for (const version of ["current", "follow", 2] as const) {
      await expect(kernel.start(plain, undefined, { version })).rejects.toMatchObject({
        code: "PAWL_DEFINITION_INVALID",
      });
    }
    for (const version of [0, 1.5, 1_000_001]) {
      await expect(start("r", version)).rejects.toMatchObject({ code: "PAWL_DEFINITION_INVALID" });
    }
  });
});

import { json, openKernel, task, workflow } from "@pawl/sdk";
import { expect, test, vi } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";

const each = eachEmbedded();
const timeout = { timeout: "2m" } as const;

test("a function that waits holds no slot, is dropped without catch or finally, and begins again from its top", async () => {
  const seen: string[] = [];
  const waiting = workflow("waiting", { version: 1 }).run(async (ctx) => {
    seen.push("begins");
    try {
      await ctx.waitSignal("go");
      seen.push("goes on");
    } catch {
      seen.push("catch");
    } finally {
      seen.push("finally");
    }
    return "done";
  });
  const other = task("other").run(() => "meanwhile");
  await each.kernel.worker({ serve: [waiting, other], slots: 1, warmBytesMax: 0 });
  const run = await each.kernel.start(waiting, undefined, { runId: "w" });
  await expect.poll(async () => (await run.get()).why).toContain('"go"');
  expect(await each.kernel.execute(other, undefined, timeout)).toBe("meanwhile");
  expect(seen).toEqual(["begins"]);
  await run.signal("go");
  expect(await run.result(timeout)).toBe("done");
  expect(seen).toEqual(["begins", "begins", "goes on", "finally"]);
});

test("a function that waits outlives kernel and worker, and takes what came meanwhile", async () => {
  const waiting = workflow("waiting", { version: 1 }).run(async (ctx) => {
    const nap = ctx.sleep("nap", "20ms");
    const said = await ctx.waitSignal<string>("said");
    await nap;
    return said.status === "received" ? said.value : said.status;
  });
  await each.kernel.worker({ serve: [waiting] });
  const run = await each.kernel.start(waiting, undefined, { runId: "w" });
  await expect.poll(async () => (await run.get()).why).toContain('"said"');
  await each.kernel.close();
  each.kernel = await openKernel({ dir: each.dir });
  await each.kernel.run("w").signal("said", "meanwhile");
  await each.kernel.worker({ serve: [waiting] });
  expect(await each.kernel.run("w").result(timeout)).toBe("meanwhile");
});

test("ctx.log is silent while recorded lines are passed again", async () => {
  const written: string[] = [];
  const spy = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    written.push(String(text).replace(/^\S+ /, ""));
    return true;
  });
  try {
    const telling = workflow("telling", { version: 1, input: json<number>() }).run(
      async (ctx, n) => {
        ctx.log("begins");
        const one = await ctx.step("one", () => n + 1);
        ctx.log(`one is ${one}`);
        await ctx.step("two", () => 2);
        await ctx.waitSignal("go");
        ctx.log("goes on");
        return one;
      },
    );
    await each.kernel.worker({ serve: [telling] });
    const run = await each.kernel.start(telling, 1, { runId: "t" });
    await expect.poll(async () => (await run.get()).why).toContain('"go"');
    await run.signal("go");
    await run.result(timeout);
  } finally {
    spy.mockRestore();
  }
  expect(written).toEqual(["t/main: begins\n", "t/main: one is 2\n", "t/main: goes on\n"]);
});

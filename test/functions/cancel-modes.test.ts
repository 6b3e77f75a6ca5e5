import {
  CallCancelled,
  CallFailed,
  Cancelled,
  json,
  operation,
  RunCancelled,
  task,
  type WorkflowContext,
  workflow,
} from "@pawl/sdk";
import { describe, expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";

const each = eachEmbedded();
const patience = { timeout: 60_000 };

const CANCELLED = 10; // TaskStatus of proto/pawl/v1/run.proto
const SUSPENDED = 5;
const COMPLETED = 7;
const FAILED = 8;

/** What a busy task was told, and lets it end. */
interface Busy {
  reason: unknown;
  release: () => void;
}

/** A task that runs until it is released, whatever it is told; `ends` says how. */
function busyTask(ends: (reason: unknown) => number, retry = { attempts: 1 }) {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const busy: Busy = { reason: undefined, release: () => release() };
  const served = task("busy", { output: json<number>(), retry }).run(async ({ signal }) => {
    const note = (): void => {
      busy.reason = signal.reason;
    };
    signal.addEventListener("abort", note, { once: true });
    await released;
    return ends(busy.reason);
  });
  return { busy, served };
}

const throwing = (reason: unknown): number => {
  throw reason;
};

/** How a promise ended, in a word. */
async function endOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    (value) => `gave ${String(value)}`,
    (error: unknown) => {
      if (error instanceof CallCancelled) return `cancelled by ${error.mode}: ${error.message}`;
      if (error instanceof CallFailed) return `failed with ${error.failure.code}`;
      return error instanceof Error ? error.name : "another";
    },
  );
}

/** Until the task is held by a worker. */
async function isHeld(ctx: WorkflowContext): Promise<void> {
  await ctx.waitSignal("held");
}

async function tellWhenHeld(run: Awaited<ReturnType<typeof each.kernel.start>>): Promise<void> {
  await expect
    .poll(async () => (await run.task("busy").catch(() => null))?.attempt, patience)
    .toBe(1);
  await run.signal("held");
}

describe("a call that is cancelled", () => {
  test("by request is told, throws at once, and keeps its grace though the function returns", async () => {
    const { busy, served } = busyTask(throwing);
    const caller = workflow("caller", { version: 1 }).run(async (ctx) => {
      const call = ctx.startCall(served);
      const result = call.result();
      await isHeld(ctx);
      call.cancel({ reason: "enough" });
      return [await endOf(result), await endOf(call.result()), call.task];
    });
    await each.kernel.worker({ serve: [caller, served] });
    const run = await each.kernel.start(caller, undefined, { runId: "r" });
    await tellWhenHeld(run);
    await expect.poll(() => busy.reason, patience).toBeInstanceOf(Cancelled);
    expect(busy.reason).toMatchObject({ message: "The run was asked to stop: enough" });
    await expect.poll(async () => (await run.task("main")).status, patience).toBe(COMPLETED);
    expect((await run.get()).why).toContain('Task "busy" was told to stop');
    busy.release();
    const end = 'cancelled by request: The function cancelled "busy" (request): enough.';
    expect(await run.result({ timeout: "2m" })).toEqual([end, end, "busy"]);
    expect((await run.task("busy")).status).toBe(CANCELLED);
  });

  test("and waited for ends as it ends: with its value, or with its failure", async () => {
    for (const [index, ends] of [() => 7, throwing].entries()) {
      const { busy, served } = busyTask(ends);
      const caller = workflow("caller", { version: 1 }).run(async (ctx) => {
        const call = ctx.startCall(served);
        await isHeld(ctx);
        call.cancel({ mode: "wait" });
        call.cancel(); // Only the first counts.
        return endOf(call.result());
      });
      const worker = await each.kernel.worker({ serve: [caller, served] });
      const run = await each.kernel.start(caller, undefined, { runId: `w${index}` });
      await tellWhenHeld(run);
      await expect.poll(() => busy.reason, patience).toBeInstanceOf(Cancelled);
      busy.release();
      const wanted = ["gave 7", "failed with PAWL_CANCELLED"][index];
      expect(await run.result({ timeout: "2m" })).toBe(wanted);
      expect((await run.task("busy")).status).toBe([COMPLETED, CANCELLED][index]);
      await worker.close();
    }
  });

  test("by letting it go throws at once; it is not told, goes on, and the run ends after it, whatever became of it", async () => {
    const { busy, served } = busyTask(() => throwing(new Error("nobody hears")));
    const caller = workflow("caller", { version: 1 }).run(async (ctx) => {
      const call = ctx.startCall(served);
      await isHeld(ctx);
      call.cancel({ mode: "abandon" });
      return endOf(call.result());
    });
    await each.kernel.worker({ serve: [caller, served] });
    const run = await each.kernel.start(caller, undefined, { runId: "a" });
    await tellWhenHeld(run);
    await expect.poll(async () => (await run.task("main")).status, patience).toBe(COMPLETED);
    expect((await run.get()).why).toContain('"busy"');
    busy.release();
    expect(await run.result({ timeout: "2m" })).toContain("cancelled by abandon");
    expect((await run.task("busy")).status).toBe(FAILED);
    expect(busy.reason).toBeUndefined();
  });
});

describe("a call that nobody holds and that is cancelled", () => {
  test("ends at once", async () => {
    const caller = workflow("caller", { version: 1 }).run(async (ctx) => {
      const call = ctx.startCall(task("unserved"));
      await ctx.sleep("a-while", "50ms");
      call.cancel({ mode: "wait" });
      return endOf(call.result());
    });
    await each.kernel.worker({ serve: [caller], warmBytesMax: 0 });
    const run = await each.kernel.start(caller, undefined, { runId: "n" });
    expect(await run.result({ timeout: "2m" })).toBe("failed with PAWL_CALL_CANCELLED");
    expect((await run.task("unserved")).status).toBe(CANCELLED);
  });

  test("has undone what it recorded with onRollback", async () => {
    const undone: string[] = [];
    const undo = operation("undo", {
      payload: json<string>(),
      result: json<boolean>(),
      sink: { kind: "idempotent", keyWindow: "1d" },
      call: ({ payload }) => {
        undone.push(payload);
        return true;
      },
    });
    const inner = workflow("inner", { version: 1 }).run(async (ctx) => {
      ctx.onRollback(undo, await ctx.step("seat", () => "1a"), { target: "airline" });
      await ctx.waitSignal("never");
    });
    const caller = workflow("caller", { version: 1 }).run(async (ctx) => {
      const call = ctx.startCall(inner);
      await isHeld(ctx);
      call.cancel();
      return endOf(call.result());
    });
    await each.kernel.worker({ serve: [caller, inner] });
    const run = await each.kernel.start(caller, undefined, { runId: "u" });
    await expect
      .poll(async () => (await run.task("inner").catch(() => null))?.status, patience)
      .toBe(SUSPENDED);
    await run.signal("held");
    expect(await run.result({ timeout: "2m" })).toContain("cancelled by request");
    expect(undone).toEqual(["1a"]);
  });

  test("comes out the same when the function runs again from its records", async () => {
    const ends: unknown[] = [];
    for (const [index, warmBytesMax] of [67_108_864, 0].entries()) {
      const caller = workflow("caller", { version: 1 }).run(async (ctx) => {
        const calls = (["request", "wait", "abandon"] as const).map((mode) => ({
          mode,
          call: ctx.startCall(task(mode)),
        }));
        await ctx.sleep("a-while", "50ms");
        for (const { mode, call } of calls) call.cancel({ mode });
        await ctx.sleep("another", "50ms");
        const said: string[] = [];
        for (const { call } of calls) said.push((await endOf(call.result())).slice(0, 22));
        await ctx.sleep("a-last", "50ms");
        return said;
      });
      const worker = await each.kernel.worker({ serve: [caller], warmBytesMax });
      const run = await each.kernel.start(caller, undefined, { runId: `c${index}` });
      await expect.poll(async () => (await run.task("main")).status, patience).toBe(COMPLETED);
      expect((await run.get()).why).toContain('"abandon"');
      await worker.close();
      const late = await each.kernel.worker({ serve: [task("abandon").run(() => 1)] });
      ends.push(await run.result({ timeout: "2m" }));
      await late.close();
    }
    const each3 = ["cancelled by request: ", "failed with PAWL_CALL_", "cancelled by abandon: "];
    expect(ends).toEqual([each3, each3]);
  });
});

describe("a cancellation", () => {
  test("in no such way is refused", async () => {
    const caller = workflow("caller", { version: 1 }).run(async (ctx) => {
      const call = ctx.startCall(task("unserved"));
      try {
        call.cancel(JSON.parse('{"mode":"kill"}'));
      } catch (error) {
        call.cancel();
        return error instanceof Error ? error.message : "";
      }
      return "taken";
    });
    await each.kernel.worker({ serve: [caller] });
    expect(await each.kernel.execute(caller, undefined, { timeout: "2m" })).toContain(
      "request, wait or abandon",
    );
  });
});

describe("a child run that is cancelled", () => {
  const waiting = workflow("waiting", { version: 1 }).run(async (ctx) => {
    await ctx.waitSignal("go");
    return "went";
  });

  test("by request is asked to stop, and throws at once", async () => {
    const parent = workflow("parent", { version: 1 }).run(async (ctx) => {
      const child = await ctx.startChild(waiting);
      const result = child.result();
      await child.cancel({ reason: "enough" });
      return [child.runId, await endOf(result)];
    });
    await each.kernel.worker({ serve: [parent, waiting] });
    const [id, end] = await each.kernel.execute(parent, undefined, { timeout: "2m" });
    expect(end).toContain("cancelled by request");
    const child = await each.kernel
      .run(id ?? "")
      .result({ timeout: "2m" })
      .catch((error) => error);
    expect(child).toBeInstanceOf(RunCancelled);
  });

  test("and waited for ends as it ends", async () => {
    const parent = workflow("parent", { version: 1 }).run(async (ctx) => {
      const child = await ctx.startChild(waiting);
      await child.cancel({ mode: "wait" });
      return endOf(child.result());
    });
    await each.kernel.worker({ serve: [parent, waiting] });
    expect(await each.kernel.execute(parent, undefined, { timeout: "2m" })).toBe("RunCancelled");
  });

  test("by letting it go throws at once, and nobody tells it", async () => {
    const parent = workflow("parent", { version: 1 }).run(async (ctx) => {
      const child = await ctx.startChild(waiting, undefined, { parentClose: "detach" });
      await child.cancel({ mode: "abandon" });
      return [child.runId, await endOf(child.result())];
    });
    await each.kernel.worker({ serve: [parent, waiting] });
    const [id, end] = await each.kernel.execute(parent, undefined, { timeout: "2m" });
    expect(end).toContain("cancelled by abandon");
    const child = each.kernel.run(id ?? "");
    await child.signal("go");
    expect(await child.result({ timeout: "2m" })).toBe("went");
  });
});

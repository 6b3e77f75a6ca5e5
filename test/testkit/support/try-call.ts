import { type Schema, type ServedTask, workflow } from "@pawl/sdk";
import { type CrashKill, everyCrashWindow } from "@pawl/sdk/testing";
import { expect } from "vitest";
import { type CallLine, servedBeside } from "./call-lines.js";

/** What a function of one call gives. */
interface Tried {
  /** What the call gave; its type, when that is another value in each run. */
  readonly got: unknown;
  readonly isAsNoted: boolean;
}

/** What a function gives is compared by the test. */
const tried: Schema<Tried, Tried> = {
  "~standard": { version: 1, vendor: "test", validate: (value) => ({ value: value as Tried }) },
};

/** The call, what is made of it, and a wait behind both. */
function functionOf({ make, gives }: CallLine): ServedTask<undefined, Tried> {
  return workflow("one-call", { version: 1, output: tried }).run(async (ctx) => {
    const got = await make(ctx);
    const noted = await ctx.step("noted", () => JSON.stringify(got));
    await ctx.sleep("pause", "1h");
    // Whichever execution comes here has been given what the first was given.
    const isAsNoted = JSON.stringify(got) === noted;
    return { got: gives === undefined ? typeof got : got, isAsNoted };
  });
}

/** How it is tried. */
export interface Way {
  /** In memory functions go on where they stand; without memory they run again from their records. */
  readonly warmBytesMax: number;
  readonly kill: readonly CrashKill[];
}

/** Runs a function of this call once for each point that it goes through, and expects each to end the same. */
export async function tryCall(line: CallLine, { warmBytesMax, kill }: Way): Promise<void> {
  const served = functionOf(line);
  const startAt = new Date("2030-01-01T00:00:00Z");
  const { points, windows } = await everyCrashWindow(
    async (env) => {
      await env.worker({ serve: [served, ...servedBeside], warmBytesMax });
      const run = await env.kernel.start(served, undefined, { runId: "r" });
      await env.settle();
      await line.meanwhile?.(env, run);
      const { got, isAsNoted } = await run.result();
      expect(isAsNoted).toBe(true);
      expect(got).toEqual(line.gives ?? expect.stringMatching(/^(string|number)$/));
    },
    { kill, startAt },
  );
  const passed = points.map(({ when, what, name }) => `${when} ${what} ${name}`.trim());
  for (const point of [...line.points, "after step noted", "before suspend", "after completion"]) {
    expect(passed.filter((each) => each.startsWith(point))).not.toEqual([]);
  }
  // Where two things race, a point may not be reached again; most are.
  const crashed = windows.filter(({ hasCrashed }) => hasCrashed);
  expect(crashed.length).toBeGreaterThan((windows.length * 3) / 4);
}

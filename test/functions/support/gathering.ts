import { type ServedTask, workflow } from "@pawl/sdk";
import { expect } from "vitest";

/** What the code of a function did. */
export interface Seen {
  /** How often it began. */
  tops: number;
  /** How often it came to its `finally`. */
  finals: number;
  /** Under which leases it went on. */
  readonly leases: number[];
}

/** A function that waits for signals `s0`, `s1`, …, and gives what they said, each after ten times its number. */
export function gathering(count: number): {
  readonly gather: ServedTask<undefined, number[]>;
  readonly seen: Seen;
} {
  const seen: Seen = { tops: 0, finals: 0, leases: [] };
  const gather = workflow("gather", { version: 1 }).run(async (ctx): Promise<number[]> => {
    seen.tops++;
    try {
      const got: number[] = [];
      for (let index = 0; index < count; index++) {
        const signal = await ctx.waitSignal<number>(`s${index}`);
        seen.leases.push(ctx.leaseVersion);
        got.push(await ctx.step("add", { key: `${index}` }, () => index * 10));
        if (signal.status === "received") got.push(signal.value);
      }
      return got;
    } finally {
      seen.finals++;
    }
  });
  return { gather, seen };
}

/** Waits until a function is suspended on this signal. */
export async function waitsFor(
  run: { get(): Promise<{ readonly why: string }> },
  signal: string,
): Promise<void> {
  await expect
    .poll(async () => (await run.get()).why, { timeout: 30_000 })
    .toContain(`waits for signal "${signal}"`);
}

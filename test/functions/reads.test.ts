import { json, workflow } from "@pawl/sdk";
import { openTestEnvironment } from "@pawl/sdk/testing";
import { describe, expect, test } from "vitest";

type Kind = "step" | "read";

/** A world that changes each time it is looked at. */
function world(kind: Kind): {
  readonly looks: () => number;
  readonly quote: ReturnType<typeof build>;
} {
  let looks = 0;
  const look = (): number => {
    looks += 1;
    return looks;
  };
  return { looks: () => looks, quote: build(kind, look) };
}

function build(kind: Kind, look: () => number) {
  return workflow("quote", { version: 1, output: json<{ rate: number; after: number }>() }).run(
    async (ctx) => {
      const rate = await ctx[kind]("rate", look);
      const after = await ctx.step("after", () => rate);
      return { rate, after };
    },
  );
}

describe.each(["read", "step"] as const)("a %s", (kind) => {
  test("that was pending when its worker died is run again", async () => {
    const { looks, quote } = world(kind);
    await using env = await openTestEnvironment();
    await env.worker({ serve: [quote] });
    env.crashAt({ when: "before", what: "step", name: "rate" });
    expect(await env.kernel.execute(quote)).toEqual({ rate: 2, after: 2 });
    expect([env.hasCrashed, looks()]).toEqual([true, 2]);
  });

  test("that was recorded is never refreshed, whatever the world shows by then", async () => {
    const { looks, quote } = world(kind);
    await using env = await openTestEnvironment();
    await env.worker({ serve: [quote] });
    env.crashAt({ when: "before", what: "completion" }, { kill: "both" });
    expect(await env.kernel.execute(quote)).toEqual({ rate: 1, after: 1 });
    expect([env.hasCrashed, looks()]).toEqual([true, 1]);
  });
});

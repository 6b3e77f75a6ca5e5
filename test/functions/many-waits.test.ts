import { json, task, workflow } from "@pawl/sdk";
import { expect, test } from "vitest";
import { eachEmbedded } from "../sdk/support/each-embedded.js";
import { recordedFailure } from "./support/run-code.js";

const each = eachEmbedded();

const LATE = { timeout: "2m" } as const;

test("a function waits for more at once than a message names anew, and begins again from its records", async () => {
  const patient = workflow("patient", { version: 1, output: json<number>() }).run(async (ctx) => {
    const waits = Array.from({ length: 2_500 }, (_, n) =>
      ctx.sleep("short", "1s", { key: `${n}` }),
    );
    await ctx.all(waits);
    await ctx.sleep("behind", "1ms");
    return waits.length;
  });
  await each.kernel.worker({ serve: [patient], warmBytesMax: 0 });
  expect(await each.kernel.execute(patient, undefined, LATE)).toBe(2_500);
}, 180_000);

test("what no message holds fails the attempt that asks for it, and not its worker", async () => {
  const asking = workflow("asking", { version: 1 }).run(async (ctx) => {
    const question = "?".repeat(3_900);
    const schema = { type: "string", description: "d".repeat(12_000) };
    const asked = Array.from({ length: 400 }, (_, n) => ctx.ask(`q${n}`, { question, schema }));
    await ctx.all(asked);
  });
  const double = task("double", { input: json<number>(), output: json<number>() }).run(
    (_ctx, n) => n * 2,
  );
  await each.kernel.worker({ serve: [asking, double] });
  const error: unknown = await each.kernel
    .execute(asking, undefined, LATE)
    .catch((thrown: unknown) => thrown);
  const failure = recordedFailure(error);
  expect(failure.code).toBe("PAWL_TOO_LARGE");
  expect(failure.message).toContain("its suspend has ");
  expect(await each.kernel.execute(double, 21, LATE)).toBe(42);
}, 180_000);

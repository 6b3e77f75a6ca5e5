import { task } from "@pawl/sdk";
import { expect, test } from "vitest";
import { eachClocked } from "../field-reports/support/each-clocked.js";
import { parseLines, runCli } from "./support/run-cli.js";

const each = eachClocked();

const pawl = (...args: string[]): ReturnType<typeof runCli> =>
  runCli(args, { env: { PAWL_URL: each.kernel.url } });

const asking = task("asking").run(async (ctx) => {
  const signal = await ctx.waitSignal<number>("go");
  const answer = await ctx.ask<{ cents: number }>("refund", {
    question: "How much?",
    addressee: "role:finance",
    schema: { type: "object", required: ["cents"] },
  });
  return { signal: signal.status, answer };
});

async function openInput(): Promise<Record<string, unknown>> {
  for (;;) {
    const [first] = parseLines((await pawl("inputs", "list", "--json")).out);
    if (first !== undefined) return first as Record<string, unknown>;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("a person signals a run, finds its question and answers it", async () => {
  await each.client.worker({ serve: [asking] });
  const run = await each.client.start(asking, undefined, { runId: "r" });
  const signal = ["signal", "r", "go", "--payload", "1", "--request-id", "q"];
  expect((await pawl(...signal)).out).toContain('Signal go is in run "r"');
  expect((await pawl(...signal)).out).toContain("nothing was changed");
  const { inputId } = await openInput();
  const { out } = await pawl("inputs", "list", "--addressee", "role:finance");
  expect(out).toContain("1 question, oldest first.");
  expect(out).toContain("How much?");
  expect(out).toContain(`inputs answer ${inputId} --expected-version 1 --value JSON`);
  expect((await pawl("inbox")).out).toContain("1 question to answer");
  const answer = (value: string) => pawl("inputs", "answer", `${inputId}`, "--value", value);
  const refused = await answer("{}");
  expect([refused.code === 0, refused.errors]).toEqual([
    false,
    expect.stringContaining("required property 'cents'"),
  ]);
  expect((await answer('{"cents":5}')).out).toContain("is answered");
  expect((await answer('{"cents":5}')).out).toContain("nothing was changed");
  expect(await run.result({ timeout: "10s" })).toEqual({
    signal: "received",
    answer: { status: "answered", value: { cents: 5 }, by: "local" },
  });
  expect((await pawl("inputs", "list")).out).toContain("No question matches");
  const both = await pawl("inputs", "answer", `${inputId}`, "--value", "1", "--decline", "no");
  expect(both.errors).toContain("exactly one of --value and --decline");
});

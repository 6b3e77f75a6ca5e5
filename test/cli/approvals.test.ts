import { json, operation, task } from "@pawl/sdk";
import { beforeEach, describe, expect, it } from "vitest";
import { eachClocked } from "../field-reports/support/each-clocked.js";
import { runCli } from "./support/run-cli.js";

const each = eachClocked();

const refund = operation("payments.refund", {
  payload: json<{ cents: number }>(),
  result: json<{ receipt: string }>(),
  call: () => ({ receipt: "R-1" }),
});

const pay = task("pay", { input: json<{ cents: number }>() }).run(async (ctx, { cents }) => {
  const terms = {
    target: "account-7",
    requesterMayDecide: true,
    display: { title: "Refund the customer", facts: { ticket: "T-9" } },
  };
  const first = await ctx.approve(refund, { cents }, terms);
  if (first.status === "approved") return { receipt: (await first.perform()).receipt };
  const lower = { cents: cents - 100 };
  const second = await ctx.approve(refund, lower, { ...terms, revises: first });
  return { second: second.status };
});

beforeEach(async () => {
  await each.client.worker({ serve: [pay] });
  await each.client.start(pay, { cents: 1200 }, { runId: "r-1" });
});

function run(...args: string[]): ReturnType<typeof runCli> {
  return runCli(args, { env: { PAWL_URL: each.kernel.url } });
}

/** Waits for text in the output of a command. */
async function until(text: string, ...args: string[]): Promise<string> {
  for (;;) {
    const { out } = await run(...args);
    if (out.includes(text)) return out;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe("pawl approvals", () => {
  it("shows what is bound apart from what is told, and approves what was shown", async () => {
    const inbox = await until("1 proposal to decide", "inbox");
    expect(inbox).toContain("Refund the customer");
    const shown = (await run("approvals", "show", "1-p0")).out;
    const [bound = "", told = ""] = shown.split("Not bound by it:");
    expect(bound).toContain("is PENDING");
    expect(bound).toContain('content:      {"cents":1200}');
    expect(bound).toContain("target:       account-7");
    expect(told).toContain("T-9");
    const fingerprint = /fingerprint: +([0-9a-f]{64})/.exec(bound)?.[1] ?? "";
    expect(shown).toContain(
      `npx --no pawl approvals approve 1-p0 --fingerprint ${fingerprint.slice(0, 16)}`,
    );

    const wrong = await run("approvals", "approve", "1-p0", "--fingerprint", "0".repeat(16));
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.errors).toContain("you saw another action. Nothing was decided");
    const short = await run(
      "approvals",
      "approve",
      "1-p0",
      "--fingerprint",
      fingerprint.slice(0, 15),
    );
    expect(short).toMatchObject({ code: 2 });

    const approved = await run(
      ...["approvals", "approve", "1-p0", "--fingerprint", fingerprint.slice(0, 16)],
    );
    expect(approved.out).toContain("is approved: its operation may be performed once");
    const key = "task/default/r-1/1/main/payments.refund/1";
    const effect = await until("is OBSERVED", "op", "show", key);
    expect(effect).toContain("Allowed by proposal 1-p0:");
    expect(effect).toContain("approved by local (unauthenticated)");
    expect(effect).toContain("main, attempt 1");
    expect((await run("approvals", "show", "1-p0")).out).toContain(`npx --no pawl op show ${key}`);
    expect((await run("inbox")).out).toBe("Nothing waits for a person here.\n");
  });

  it("tells why a run waits with the command that approves, and what a revised proposal changed", async () => {
    const why = await until("waits for an approval by role approver", "why", "r-1");
    expect(why).toContain("\n  npx --no pawl approvals show 1-p0\n");
    const command = /pawl approvals approve 1-p0 --fingerprint ([0-9a-f]{16})/.exec(why);
    await run(
      ...[
        "approvals",
        "reject",
        "1-p0",
        "--fingerprint",
        command?.[1] ?? "",
        "--reason",
        "too much",
      ],
    );
    await until("1-p1", "approvals", "list");
    const revised = (await run("approvals", "show", "1-p1")).out;
    expect(revised).toContain("Changed since proposal 1-p0:");
    expect(revised).toContain('- {"cents":1200}');
    expect(revised).toContain('+ {"cents":1100}');
    const all = (await run("approvals", "list", "--run", "r-1")).out;
    expect(all).toMatch(/1-p0 +REJECTED/);
    expect(all).toMatch(/1-p1 +PENDING/);
    const late = await run(
      ...["approvals", "approve", "1-p0", "--fingerprint", command?.[1] ?? ""],
    );
    expect(late).toMatchObject({ code: 1 });
    expect(late.errors).toContain("it was rejected. Nothing was changed.");
  });
});

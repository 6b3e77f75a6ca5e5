import { json, operation, Refused, task } from "@pawl/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import { printedCommands, wordsOf } from "./support/pawl-process.js";
import { RealCli } from "./support/real-cli.js";

const cli = RealCli.forTheFile();

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const key = "task/default/r/1/main/payments.refund/1";

const refund = operation("payments.refund", {
  payload: json<{ cents: number }>(),
  result: json<{ receipt: string }>(),
  call: (op) => {
    if (op.payload.cents === 1) throw new Refused("the account is closed");
    return { receipt: "R-1" };
  },
});

const pay = task("pay", { input: json<{ cents: number }>() }).run(async (ctx, { cents }) => {
  const terms = { target: "account-7", requesterMayDecide: true };
  const said = await ctx.approve(refund, { cents }, terms);
  return said.status === "approved" ? await said.perform() : said.status;
});

const direct = task("direct", { input: json<{ cents: number }>() }).run((ctx, payload) =>
  ctx.perform(refund, payload, { target: "account-8" }),
);

beforeAll(async () => {
  await cli.client.worker({ serve: [pay, direct] });
  const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
  const run = await cli.client.start(pay, { cents: 1200 }, { runId: "r", traceparent });
  await cli.until("1-p0", "inbox");
  const shown = /--fingerprint ([0-9a-f]{16})/.exec(await cli.out("inbox"))?.[1] ?? "";
  const why = ["--reason", "seen the ticket"];
  await cli.out("approvals", "approve", "1-p0", "--fingerprint", shown, ...why);
  await run.result({ timeout: "10s" });
});

/** The commands that a command tells people to run next. */
async function nextOf(...args: string[]): Promise<string[]> {
  return printedCommands((await cli.out(...args)).split("Next:\n")[1] ?? "");
}

describe("the walk from an effect", () => {
  it("leads to its proposal, its approver, its result, its attempt and its trace", async () => {
    const shown = await cli.out("op", "show", key);
    expect(shown.split("\n")).toEqual(
      expect.arrayContaining([
        `Operation ${key} ("payments.refund") is OBSERVED.`,
        "  run:         r",
        "  task:        main",
        "  target:      account-7",
        '  request:     {"cents":1200}',
        '  result:      {"receipt":"R-1"}',
        "  proposal:    1-p0",
        `  trace id:    ${traceId}`,
        "Allowed by proposal 1-p0:",
        "  requested by: local (unauthenticated)",
      ]),
    );
    expect(shown).toMatch(/decision: +approved by local \(unauthenticated\).*: seen the ticket$/m);
    expect(shown).toMatch(/OperationIntended +main, attempt 1/);
    expect(shown).toMatch(
      /OperationObserved +main, attempt 1 +The call ended; the operation is OBSERVED\./,
    );
    const [json1] = await cli.json("op", "show", key);
    expect(json1).toMatchObject({
      key,
      status: "OPERATION_STATUS_OBSERVED",
      proposalId: "1-p0",
      traceparent: expect.stringContaining(traceId),
    });
  });

  it("leads back from proposal, run and task, each by a printed command", async () => {
    const toProposal = `npx --no pawl approvals show 1-p0`;
    const toOperation = `npx --no pawl op show ${key}`;
    expect(await nextOf("op", "show", key)).toEqual([
      toProposal,
      "npx --no pawl task show r main",
      "npx --no pawl report r",
    ]);
    expect(await nextOf("approvals", "show", "1-p0")).toEqual([toOperation]);
    expect(await nextOf("op", "list", "r")).toEqual([toOperation]);
    const listed = await cli.out("op", "list", "r");
    expect(listed).toMatch(/^1 operation, in the order in which they were begun\.\n/);
    expect(await cli.out("op", "list")).toMatch(/^1 operation, in no order of time\.\n/);
    for (const command of [...(await nextOf("op", "show", key)), toOperation]) {
      expect((await cli.pawl(...wordsOf(command))).code).toBe(0);
    }
    expect(await cli.out("report", "r")).toContain(key);
    expect(await cli.out("run", "history", "r")).toContain(`operation ${key}`);
  });
});

describe("pawl op show", () => {
  it("says why a sink refused, and that nobody had to allow it", async () => {
    const run = await cli.client.start(direct, { cents: 1 }, { runId: "d" });
    await run.result({ timeout: "10s" }).catch(() => undefined);
    const shown = await cli.out("op", "show", "task/default/d/1/main/payments.refund/1");
    expect(shown).toContain("is REFUSED.");
    expect(shown).toContain("the account is closed");
    expect(shown).not.toContain("Allowed by");
  });

  it("says which key it does not know, and shows nothing of it to the terminal", async () => {
    const { code, said } = await cli.refusal("op", "show", "no/such\u001b[2Jkey");
    expect(code).toBe(1);
    expect(said).toContain("PAWL_OPERATION_NOT_FOUND");
    expect(said).toContain("\n  npx --no pawl op list\n");
    expect(said).not.toContain("\u001b");
    expect((await cli.refusal("op", "show")).code).toBe(2);
    const odd = await cli.refusal("op", "list", "--status", "lost");
    expect([odd.code, odd.said]).toEqual([2, expect.stringContaining("in-doubt")]);
  });
});

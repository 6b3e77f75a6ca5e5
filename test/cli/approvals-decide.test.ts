import { json, operation, task } from "@pawl/sdk";
import { beforeEach, describe, expect, it } from "vitest";
import { RealCli } from "./support/real-cli.js";

const cli = RealCli.forEachTest();

const refund = operation("payments.refund", {
  payload: json<{ cents: number }>(),
  result: json<string>(),
  call: () => "R-1",
});

/** Performs only after a signal, so that an approval can be taken back before it is used. */
const pay = task("pay").run(async (ctx) => {
  const terms = { target: "acct\u001b[31m", requesterMayDecide: true, expiresIn: "2h" } as const;
  const said = await ctx.approve(refund, { cents: 5 }, terms);
  if (said.status !== "approved") return said.status;
  await ctx.waitSignal("go");
  return said.perform();
});

let fingerprint: string;

beforeEach(async () => {
  await cli.client.worker({ serve: [pay] });
  await cli.client.start(pay, undefined, { runId: "r" });
  const inbox = await cli.until("1-p0", "inbox");
  fingerprint = /--fingerprint ([0-9a-f]{16})/.exec(inbox)?.[1] ?? "";
});

const decide = (verb: string, ...args: string[]): string[] => [
  ...["approvals", verb, "1-p0", "--fingerprint", fingerprint],
  ...args,
];

describe("pawl approvals list", () => {
  it("lists what waits, and what became of it", async () => {
    const listed = await cli.out("approvals", "list");
    expect(listed).toContain("1 proposal, oldest first.");
    expect(listed).toMatch(/1-p0 +PENDING +payments\.refund +acct\\u001b\[31m +role:approver/);
    expect(await cli.json("approvals", "list", "--for", "role:approver")).toMatchObject([
      { proposalId: "1-p0", status: "PROPOSAL_STATUS_PENDING", runId: "r" },
    ]);
    expect(await cli.json("approvals", "list", "--for", "role:nobody")).toEqual([]);
    expect(await cli.json("approvals", "list", "--status", "approved")).toEqual([]);
    await cli.out(...decide("approve"));
    expect(await cli.json("approvals", "list", "--status", "approved")).toHaveLength(1);
    expect(await cli.out("approvals", "list")).toBe("No proposal matches.\n");
  });

  it.each([
    [["--status", "perhaps"], 2, "pending, approved"],
    [["--for", "finance"], 1, "user:NAME or role:NAME"],
    [["--run", "absent"], 1, "PAWL_RUN_NOT_FOUND"],
  ])("refuses %j", async (args, code, named) => {
    const refused = await cli.refusal("approvals", "list", ...args);
    expect([refused.code, refused.said]).toEqual([code, expect.stringContaining(named)]);
  });
});

describe("pawl approvals approve and reject", () => {
  it("tell what follows, and that the same again changed nothing", async () => {
    expect(await cli.json(...decide("approve"))).toMatchObject([
      { proposalId: "1-p0", existing: false, status: "PROPOSAL_STATUS_APPROVED" },
    ]);
    expect(await cli.out(...decide("approve"))).toContain(
      "Proposal 1-p0 had been approved by you before; nothing was changed.",
    );
    const other = await cli.refusal(...decide("reject", "--reason", "no"));
    expect(other.code).toBe(1);
    expect(other.said).toMatch(
      /Reason: PAWL_PROPOSAL_CLOSED \(exit code 1\)\nNext:\n {2}npx --no pawl approvals show 1-p0/,
    );
  });

  it("reject with a reason that the task and the record have", async () => {
    expect(await cli.out(...decide("reject", "--reason", "paid\u001b[2J twice"))).toContain(
      "Proposal 1-p0 is rejected: its operation will not be performed.",
    );
    const shown = await cli.out("approvals", "show", "1-p0");
    expect(shown).toContain("paid\\u001b[2J twice");
    expect(shown).not.toContain("\u001b");
    expect((await cli.refusal(...decide("reject"))).code).toBe(2);
  });

  it.each([
    ["0".repeat(16), "you saw another action. Nothing was decided"],
    ["03cbe4", "16 to 64 hex digits"],
    ["not-a-fingerprint", "16 to 64 hex digits"],
  ])("refuse the fingerprint %s before anything is sent", async (digits, named) => {
    for (const verb of ["approve", "reject"]) {
      const args = ["approvals", verb, "1-p0", "--fingerprint", digits, "--reason", "x"];
      const { code, said } = await cli.refusal(...args);
      expect([code, said]).toEqual([2, expect.stringContaining(named)]);
      expect(said).toContain("Next:\n  npx --no pawl approvals show 1-p0");
    }
    expect(await cli.json("approvals", "list")).toMatchObject([{ version: 1 }]);
  });

  it("say which proposal is not there", async () => {
    const absent = await cli.refusal("approvals", "approve", "9-p9", "--fingerprint", fingerprint);
    expect([absent.code, absent.said]).toEqual([
      1,
      expect.stringContaining("PAWL_PROPOSAL_NOT_FOUND"),
    ]);
    expect(absent.said).toContain("\n  npx --no pawl approvals list\n");
    const odd = await cli.refusal("approvals", "show", "\u001b[31m", "--json");
    expect(odd.code).toBe(1);
    expect(JSON.parse(odd.said).error.exitCode).toBe(1);
  });

  it("come too late for what has expired", async () => {
    await cli.kernel.time.pass(3 * 3_600_000, 60_000);
    const { code, said } = await cli.refusal(...decide("approve"));
    expect([code, said]).toEqual([1, expect.stringContaining("it is EXPIRED: its time is over")]);
  });
});

describe("pawl approvals revoke", () => {
  const revoke = ["approvals", "revoke", "1-p0", "--reason", "the customer withdrew"];

  it("takes back an approval that was not used, and the effect does not happen", async () => {
    await cli.out(...decide("approve"));
    const version = (await cli.json("approvals", "list", "--run", "r"))[0]?.["version"];
    const seen = ["--expected-version", `${version}`];
    expect(await cli.out(...revoke, ...seen)).toContain(
      "The approval of proposal 1-p0 is revoked: its operation will not be performed.",
    );
    expect(await cli.out(...revoke, ...seen)).toContain("had been revoked before");
    expect(await cli.json(...revoke, ...seen)).toMatchObject([
      { proposalId: "1-p0", existing: true },
    ]);
    await cli.out("signal", "r", "go");
    await cli.until("ApprovalRevoked", "why", "r");
    expect(await cli.out("op", "list", "r")).toBe("No operation matches.\n");
  });

  it("is refused before there is an approval, and after it was used", async () => {
    const early = await cli.refusal(...revoke);
    expect([early.code, early.said]).toEqual([1, expect.stringMatching(/PAWL_[A-Z_]+/)]);
    await cli.out(...decide("approve"));
    const stale = await cli.refusal(...revoke, "--expected-version", "1");
    expect([stale.code, stale.said]).toEqual([1, expect.stringContaining("PAWL_STALE_VERSION")]);
    await cli.out("signal", "r", "go");
    await cli.until("CONSUMED", "approvals", "show", "1-p0");
    const late = await cli.refusal(...revoke);
    expect([late.code, late.said]).toEqual([1, expect.stringMatching(/used|CONSUMED|consumed/)]);
    expect(late.said).toContain("Next:\n  npx --no pawl approvals show 1-p0");
    expect((await cli.refusal("approvals", "revoke", "1-p0")).code).toBe(2);
  });
});

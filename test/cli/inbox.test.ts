import { json, operation, task } from "@pawl/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import { RealCli } from "./support/real-cli.js";

const cli = RealCli.forTheFile();

const refund = operation("payments.refund", {
  payload: json<{ cents: number }>(),
  result: json<string>(),
  call: () => "R-1",
});

const pay = task("pay", { input: json<{ from: string[]; need?: number }>() }).run(
  async (ctx, { from, need = 1 }) => {
    const requesterMayDecide = need === 1;
    const asked = { from, need, requesterMayDecide };
    const terms = { target: "acct \u001b[31m9", ...asked, expiresIn: "2h" } as const;
    return (await ctx.approve(refund, { cents: 5 }, terms)).status;
  },
);

const ask = task("ask", { input: json<{ addressee?: string }>() }).run(
  async (ctx, { addressee }) => {
    const to = addressee === undefined ? {} : { addressee };
    const schema = { type: "object", required: ["cents"] };
    return (await ctx.ask("much", { question: "How much?", schema, ...to, expiresIn: "1h" }))
      .status;
  },
);

const stuck = task("stuck", { retry: { attempts: 1, onExhausted: "ask" } }).run((): number => {
  throw new Error("the desk is closed");
});

/** Starts a run of one task, and waits until it waits for a person. */
async function wait(words: string, start: () => Promise<unknown>): Promise<void> {
  await start();
  await cli.until(words, "inbox");
}

beforeAll(async () => {
  const { client } = cli;
  await client.worker({ serve: [pay, ask, stuck] });
  const approval = (runId: string, from: string[], need?: number): Promise<unknown> =>
    client.start(pay, need === undefined ? { from } : { from, need }, { runId });
  const question = (runId: string, addressee?: string): Promise<unknown> =>
    client.start(ask, addressee === undefined ? {} : { addressee }, { runId });
  await wait("1-p0", () => approval("two", ["role:finance", "user:ann"], 2));
  await wait("2-p0", () => approval("one", ["role:legal"]));
  await wait("3-0", () => question("asks-finance", "role:finance"));
  await wait("4-0", () => question("asks-anybody"));
  await wait("5-0", () => question("asks-bob", "bob"));
  await wait("to resolve", () => client.start(stuck, undefined, { runId: "stuck" }));
});

/** What an inbox lists, by id. */
async function idsFor(...who: string[]): Promise<string[]> {
  const lines = await cli.json("inbox", ...who.flatMap((name) => ["--for", name]));
  return lines.map((line) => {
    const { proposal, input, review } = line as Record<string, Record<string, string>>;
    return proposal?.["proposalId"] ?? input?.["inputId"] ?? `review ${review?.["runId"]}`;
  });
}

describe("pawl inbox", () => {
  it("says of everything what waits, for whom, until when, and what answers it", async () => {
    const out = await cli.outByHour("inbox");
    const fingerprint = /--fingerprint ([0-9a-f]{16})/.exec(out)?.[1];
    const review = /^Review (\S+) /m.exec(out)?.[1];
    const said = out
      .replaceAll(/[0-9a-f]{16}\b/g, "DIGITS")
      .replace(/at worker "[^"]*"/, "at worker WORKER");
    expect(said).toBe(
      [
        "2 proposals to decide, oldest first.",
        "",
        'Proposal 1-p0: may "payments.refund" on "acct \\u001b[31m9" be performed?',
        "  for:     role:finance or user:ann: 2 must approve, 0 did",
        "  until:   2026-05-28T22h",
        "  from:    task main of run two",
        '  needs:   a token: without one everybody is "local", who may not decide this since it may be the requester; the first token lets nobody in without one, workers neither, so make theirs first (--role worker --role client)',
        "  read:    npx --no pawl approvals show 1-p0",
        "  token:   npx --no pawl token create --name ann --role approver > ann.token",
        "  approve: npx --no pawl approvals approve 1-p0 --fingerprint DIGITS --token-file ann.token",
        "  reject:  npx --no pawl approvals reject 1-p0 --fingerprint DIGITS --token-file ann.token --reason TEXT",
        "",
        'Proposal 2-p0: may "payments.refund" on "acct \\u001b[31m9" be performed?',
        "  for:     role:legal",
        "  until:   2026-05-28T22h",
        "  from:    task main of run one",
        "  read:    npx --no pawl approvals show 2-p0",
        "  approve: npx --no pawl approvals approve 2-p0 --fingerprint DIGITS",
        "  reject:  npx --no pawl approvals reject 2-p0 --fingerprint DIGITS --reason TEXT",
        "",
        "3 questions to answer, oldest first.",
        "",
        "Question 3-0: How much?",
        "  for:     role:finance",
        "  until:   2026-05-28T21h",
        "  from:    task main of run asks-finance",
        '  schema:  {"type":"object","required":["cents"]}',
        "  answer:  npx --no pawl inputs answer 3-0 --expected-version 1 --value JSON",
        "  decline: npx --no pawl inputs answer 3-0 --expected-version 1 --decline TEXT",
        "",
        "Question 4-0: How much?",
        "  for:     anybody",
        "  until:   2026-05-28T21h",
        "  from:    task main of run asks-anybody",
        '  schema:  {"type":"object","required":["cents"]}',
        "  answer:  npx --no pawl inputs answer 4-0 --expected-version 1 --value JSON",
        "  decline: npx --no pawl inputs answer 4-0 --expected-version 1 --decline TEXT",
        "",
        "Question 5-0: How much?",
        "  for:     bob",
        "  until:   2026-05-28T21h",
        "  from:    task main of run asks-bob",
        '  schema:  {"type":"object","required":["cents"]}',
        "  answer:  npx --no pawl inputs answer 5-0 --expected-version 1 --value JSON",
        "  decline: npx --no pawl inputs answer 5-0 --expected-version 1 --decline TEXT",
        "",
        "1 review to resolve, oldest first.",
        "",
        `Review ${review} of the task: Task "main" used up its only attempt; the last one, at worker WORKER, failed with Error: the desk is closed.`,
        "  for:     role:operator or role:admin",
        "  until:   it is resolved",
        "  from:    task main of run stuck",
        "  choices: retry, done, skip, fail",
        `  read:    npx --no pawl reviews show ${review}`,
        `  resolve: npx --no pawl reviews resolve ${review} --expected-version 1 --choice CHOICE --reason TEXT`,
        "",
        "",
      ].join("\n"),
    );
    expect(fingerprint).toBeDefined();
  });
});

describe("pawl why", () => {
  it("says with which command one may decide, and what that needs", async () => {
    expect(await cli.out("why", "one")).toMatch(
      /waits for an approval by role legal of .*; approve with: pawl approvals approve 2-p0 --fingerprint [0-9a-f]{16}\.$/m,
    );
    expect(await cli.out("why", "two")).toMatch(
      /; one of them who is not the requester approves with a token: pawl approvals approve 1-p0 --fingerprint [0-9a-f]{16} --token-file FILE\.$/m,
    );
  });
});

describe("pawl inbox --for", () => {
  it.each([
    [["role:finance"], ["1-p0", "3-0", "4-0"]],
    [["role:legal"], ["2-p0", "4-0"]],
    // A principal may bear any role, so what waits for operators may wait for her too.
    [["user:ann"], ["1-p0", "4-0", "review stuck"]],
    [["ann"], ["1-p0", "4-0", "review stuck"]],
    [["bob"], ["4-0", "5-0", "review stuck"]],
    [["role:operator"], ["4-0", "review stuck"]],
    [
      ["role:finance", "role:legal"],
      ["1-p0", "2-p0", "3-0", "4-0"],
    ],
    [
      ["ann", "role:finance"],
      ["1-p0", "3-0", "4-0", "review stuck"],
    ],
  ])("%j lists what they may answer, each once", async (who, ids) => {
    expect(await idsFor(...who)).toEqual(ids);
  });

  it("refuses a name that nobody can have", async () => {
    for (const who of ["", "role:", "user:"]) {
      const { code, said } = await cli.refusal("inbox", "--for", who);
      expect([code, said]).toEqual([2, expect.stringContaining("user:NAME or role:NAME")]);
    }
  });
});

describe("pawl inbox for scripts", () => {
  it("prints each thing under its kind, with the commands that answer it", async () => {
    const lines = await cli.json("inbox", "--for", "role:finance");
    const shown = expect.stringMatching(
      /^npx --no pawl approvals approve 1-p0 --fingerprint [0-9a-f]{16} --token-file ann\.token$/,
    );
    expect(lines).toMatchObject([
      {
        proposal: { proposalId: "1-p0", from: ["role:finance", "user:ann"], need: 2 },
        commands: { read: "npx --no pawl approvals show 1-p0", approve: shown },
      },
      { input: { inputId: "3-0", addressee: "role:finance", version: 1 } },
      { input: { inputId: "4-0", addressee: "" } },
    ]);
  });

  it("lists as much as it is told to, and says when there is more", async () => {
    const { out, errors } = await cli.pawl("inbox", "--limit", "1", "--json");
    expect(
      out
        .trim()
        .split("\n")
        .map((line) => Object.keys(JSON.parse(line))[0]),
    ).toEqual(["proposal", "input", "review"]);
    expect(JSON.parse(errors)).toEqual({
      notice: "There is more than is listed; --limit lists more.",
    });
    const merged = await cli.pawl("inbox", "--for", "bob", "--limit", "1");
    expect(merged.out).toContain("Question 4-0");
    expect(merged.out).not.toContain("Question 5-0");
    expect(merged.errors).toContain("--limit lists more");
    expect((await cli.pawl("inbox", "--limit", "0")).code).toBe(2);
  });

  it("looks into the namespace that it is given, and restates it in what it prints", async () => {
    await cli.out("namespace", "create", "shop");
    expect(await cli.json("inbox", "--namespace", "shop")).toEqual([]);
    const absent = await cli.pawl("inbox", "--namespace", "absent", "--json");
    expect([absent.code, JSON.parse(absent.errors).error.reason]).toEqual([
      1,
      "PAWL_NAMESPACE_NOT_FOUND",
    ]);
    expect(await cli.out("inbox", "--namespace", "default")).toContain(
      "npx --no pawl approvals show 1-p0 --namespace default",
    );
  });
});

describe("an inbox that was answered", () => {
  it("says for whom nothing waits", async () => {
    await cli.out("inputs", "answer", "4-0", "--decline", "no");
    await cli.until("2 questions", "inbox");
    expect(await cli.out("inbox", "--for", "role:nobody")).toBe(
      "Nothing waits for role:nobody here.\n",
    );
    expect(await cli.json("inbox", "--for", "role:nobody")).toEqual([]);
  });
});

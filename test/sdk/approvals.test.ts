import {
  ApprovalExpired,
  ApprovalPending,
  ApprovalRevoked,
  ApprovalStale,
  type Approved,
  json,
  NotApproved,
  operation,
  type ProposalInfo,
  type Said,
  type TaskContext,
  task,
} from "@pawl/sdk";
import { beforeEach, describe, expect, test } from "vitest";
import { eachClocked } from "../field-reports/support/each-clocked.js";
import { gate } from "./support/worker-bench.js";

const HOUR_MS = 3_600_000;

const each = eachClocked();
let sent: unknown[] = [];

beforeEach(async () => {
  sent = [];
});

const refund = operation("payments.refund", {
  payload: json<{ cents: number }>(),
  result: json<{ receipt: number }>(),
  sink: { kind: "idempotent", keyWindow: "30d" },
  call: (op) => {
    sent.push([op.target, op.payload]);
    return { receipt: sent.length };
  },
});

const terms = { target: "account-7", from: ["role:finance"], requesterMayDecide: true } as const;

/** The first proposal that waits for a decision. */
async function pending(): Promise<ProposalInfo> {
  for (;;) {
    for await (const proposal of each.client.approvals.list()) {
      return await each.client.approvals.get(proposal.proposalId);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

type Told =
  | string
  | undefined
  | { readonly receipt: number }
  | { readonly not: string; readonly why: string };

function payTask(act: (said: Said<{ receipt: number }>) => Promise<Told>) {
  return task("pay").run(async (ctx) => {
    const plan = await ctx.step("plan", () => ({ cents: 1200 }));
    return await act(await ctx.approve(refund, plan, terms));
  });
}

const performIt = payTask(async (said) =>
  said.status === "approved" ? await said.perform() : { not: said.status, why: said.reason },
);

describe("ctx.approve", () => {
  test("shows exactly what will be sent, waits without a worker, and performs what was approved", async () => {
    const worker = await each.client.worker({ serve: [performIt] });
    const run = await each.client.start(performIt, undefined, { runId: "r" });
    const shown = await pending();
    expect(shown).toMatchObject({
      runId: "r",
      operation: "payments.refund",
      target: "account-7",
      content: { cents: 1200 },
      status: "pending",
      version: 1,
      from: ["role:finance"],
    });
    await worker.close({ drainMs: 0 });
    expect(await each.client.approvals.approve(shown, { reason: "fine" })).toBe("approved");
    expect(sent).toEqual([]);
    await each.client.worker({ serve: [performIt] });
    expect(await run.result({ timeout: "10s" })).toEqual({ receipt: 1 });
    expect(sent).toEqual([["account-7", { cents: 1200 }]]);
    expect(await each.client.approvals.get(shown.proposalId)).toMatchObject({
      status: "consumed",
      decisions: [{ verdict: "approve", principal: "local", authenticated: false, reason: "fine" }],
    });
  });

  test.each([
    [
      "rejected",
      (shown: ProposalInfo) => each.client.approvals.reject(shown, { reason: "no" }),
      "no",
    ],
    [
      "withdrawn",
      (shown: ProposalInfo) => each.client.approvals.withdraw(shown, { reason: "not needed" }),
      "not needed",
    ],
    ["expired", () => each.kernel.time.pass(7 * 24 * HOUR_MS + 100), ""],
  ] as const)("tells the code that it was %s, and why", async (status, end, why) => {
    await each.client.worker({ serve: [performIt] });
    const run = await each.client.start(performIt, undefined, { runId: "r" });
    await end(await pending());
    expect(await run.result({ timeout: "10s" })).toEqual({ not: status, why });
    expect(sent).toEqual([]);
  });
});

describe("an approval that cannot be used", () => {
  test("has expired while kernel and worker were down", async () => {
    await each.client.worker({ serve: [performIt] });
    await each.client.start(performIt, undefined, { runId: "r" });
    await pending();
    await each.closeClient();
    await each.kernel.kill();
    await each.kernel.time.pass(8 * 24 * HOUR_MS);
    await each.kernel.start();
    await each.client.worker({ serve: [performIt] });
    const run = each.client.run("r", performIt);
    await each.kernel.time.pass(100);
    expect(await run.result({ timeout: "20s" })).toEqual({ not: "expired", why: "" });
  });

  test("was revoked before it was used: nothing is performed", async () => {
    let approved: Approved<{ receipt: number }> | undefined;
    let goOn: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const late = payTask(async (said) => {
      if (said.status === "approved") approved = said;
      await held;
      return await approved?.perform().catch((error: unknown) => {
        if (error instanceof ApprovalRevoked) return error.reason;
        throw error;
      });
    });
    await each.client.worker({ serve: [late] });
    const run = await each.client.start(late, undefined, { runId: "r" });
    const shown = await pending();
    await each.client.approvals.approve(shown);
    while (approved === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    await each.client.approvals.revoke({ ...shown, version: 2 }, { reason: "wrong till" });
    goOn();
    expect(await run.result({ timeout: "10s" })).toBe("wrong till");
    expect(sent).toEqual([]);
  });
});

describe("performing without an approval that can be used", () => {
  /** Performs the effect by its name, whatever became of its proposal, and gives the error. */
  const performBare = (ctx: TaskContext) =>
    ctx
      .perform(refund, { cents: 1200 }, { target: "account-7" })
      .then(() => undefined)
      .catch((error: unknown) => error);

  test("is refused while nobody has decided, and worth another try", async () => {
    const seen: unknown[] = [];
    const hasty = task("hasty").run(async (ctx) => {
      const said = ctx.approve(refund, { cents: 1200 }, terms);
      const first = await Promise.race([said, ctx.sleep("patience", "1m")]);
      if (first === undefined) seen.push(await performBare(ctx));
      return first?.status ?? "tired of waiting";
    });
    await each.client.worker({ serve: [hasty] });
    const run = await each.client.start(hasty, undefined, { runId: "r" });
    const { proposalId, operationKey } = await pending();
    await each.kernel.time.pass(60_100);
    expect(await run.result({ timeout: "20s" })).toBe("tired of waiting");
    expect(seen).toEqual([expect.any(ApprovalPending)]);
    expect(seen).toMatchObject([{ proposalId, operationKey, retryable: true }]);
    expect(sent).toEqual([]);
  });

  test("is refused for good after a rejection", async () => {
    const seen: unknown[] = [];
    const stubborn = task("stubborn").run(async (ctx) => {
      const { status } = await ctx.approve(refund, { cents: 1200 }, terms);
      seen.push(await performBare(ctx));
      return status;
    });
    await each.client.worker({ serve: [stubborn] });
    const run = await each.client.start(stubborn, undefined, { runId: "r" });
    await each.client.approvals.reject(await pending(), { reason: "too much" });
    expect(await run.result({ timeout: "20s" })).toBe("rejected");
    expect(seen).toEqual([expect.any(NotApproved)]);
    expect(seen).toMatchObject([{ retryable: false, message: expect.stringMatching(/rejected/) }]);
    expect(sent).toEqual([]);
  });

  test("is refused when the approval was not used in time", async () => {
    const seen: unknown[] = [];
    const slow = task("slow", { timeouts: { lease: "1d" } }).run(async (ctx) => {
      const said = await ctx.approve(refund, { cents: 1200 }, { ...terms, expiresIn: "1h" });
      if (said.status !== "approved") return said.status;
      await each.kernel.time.pass(2 * HOUR_MS);
      seen.push(await said.perform().catch((error: unknown) => error));
      return "too slow";
    });
    await each.client.worker({ serve: [slow] });
    const run = await each.client.start(slow, undefined, { runId: "r" });
    await each.client.approvals.approve(await pending());
    expect(await run.result({ timeout: "20s" })).toBe("too slow");
    expect(seen).toEqual([expect.any(ApprovalExpired)]);
    expect(sent).toEqual([]);
  });
});

describe("an approval granted five hours after a read", () => {
  const priced = (guarded: boolean) =>
    task(`priced-${guarded}`).run(async (ctx) => {
      const quote = await ctx.read("quote", () => ({ cents: 900 }));
      const guards = guarded ? [{ read: "quote", maxAge: "1h" } as const] : [];
      const first = await ctx.approve(refund, quote, { ...terms, guards });
      const done = await performFresh(first);
      return done === "stale" ? await proposeAnew(ctx, first) : done;
    });

  async function performFresh(said: Said<{ receipt: number }>) {
    if (said.status !== "approved") return said.status;
    return await said.perform().catch((error: unknown) => {
      if (error instanceof ApprovalStale) return "stale" as const;
      throw error;
    });
  }

  async function proposeAnew(ctx: TaskContext, first: Said<{ receipt: number }>) {
    const fresh = await ctx.read("fresh quote", () => ({ cents: 950 }));
    const guards = [{ read: "fresh quote", maxAge: "1h" } as const];
    const again = await ctx.approve(refund, fresh, { ...terms, guards, revises: first });
    return again.status === "approved" ? { revised: await again.perform() } : again.status;
  }

  test("is performed when nothing guards the read", async () => {
    const unguarded = priced(false);
    await each.client.worker({ serve: [unguarded] });
    const run = await each.client.start(unguarded, undefined, { runId: "r" });
    const shown = await pending();
    await each.kernel.time.pass(5 * HOUR_MS);
    await each.client.approvals.approve(shown);
    expect(await run.result({ timeout: "10s" })).toEqual({ receipt: 1 });
    expect(sent).toEqual([["account-7", { cents: 900 }]]);
  });

  test("is stale when it is guarded: the code decides, and a revised proposal links to the first", async () => {
    const guarded = priced(true);
    await each.client.worker({ serve: [guarded] });
    const run = await each.client.start(guarded, undefined, { runId: "r" });
    const shown = await pending();
    await each.kernel.time.pass(5 * HOUR_MS);
    await each.client.approvals.approve(shown);
    const revised = await pending();
    expect(sent).toEqual([]);
    expect(revised).toMatchObject({ revises: shown.proposalId, content: { cents: 950 } });
    expect(await each.client.approvals.get(shown.proposalId)).toMatchObject({
      status: "stale",
      revisedBy: revised.proposalId,
      endReason: expect.stringContaining("5 h ago"),
    });
    await each.client.approvals.approve(revised);
    expect(await run.result({ timeout: "10s" })).toEqual({ revised: { receipt: 1 } });
    expect(sent).toEqual([["account-7", { cents: 950 }]]);
  });
});

describe("each.client.approvals", () => {
  test("waits for a decision, watches changes, and refuses another fingerprint than the shown one", async () => {
    const changes: string[] = [];
    await each.client.worker({ serve: [performIt] });
    const run = await each.client.start(performIt, undefined, { runId: "r" });
    const shown = await pending();
    const told = gate();
    const watching = (async () => {
      const addressee = "role:finance";
      for await (const { status } of each.client.approvals.watch({ addressee, current: true })) {
        changes.push(status);
        told.open();
        if (status === "consumed") return;
      }
    })();
    await told.promise;
    const decided = each.client.approvals.await(shown.proposalId);
    await expect(
      each.client.approvals.approve({ ...shown, fingerprint: "0".repeat(64) }),
    ).rejects.toMatchObject({ code: "PAWL_FINGERPRINT_CONFLICT" });
    await each.client.approvals.approve(shown);
    expect((await decided).decisions).toHaveLength(1);
    await run.result({ timeout: "10s" });
    await watching;
    expect(changes).toEqual(["pending", "approved", "consumed"]);
    await expect(each.client.approvals.reject(shown, { reason: "late" })).rejects.toMatchObject({
      code: "PAWL_PROPOSAL_CLOSED",
    });
  });

  test("tells what is pending already, and goes on behind a position", async () => {
    await each.client.worker({ serve: [performIt] });
    await each.client.start(performIt, undefined, { runId: "r" });
    const shown = await pending();
    const seen: string[] = [];
    let position: string | undefined;
    for await (const change of each.client.approvals.watch({ current: true })) {
      seen.push(`${change.proposalId === shown.proposalId} ${change.status}`);
      position = change.position;
      if (change.status === "withdrawn") break;
      await each.client.approvals.withdraw(shown, { reason: "not needed" });
    }
    expect(seen).toEqual(["true pending", "true withdrawn"]);
    await each.client.start(performIt, undefined, { runId: "later" });
    for await (const change of each.client.approvals.watch({ after: position ?? "" })) {
      expect(change).toMatchObject({ runId: "later", status: "pending" });
      break;
    }
  });
});

import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import type { HistoryEvent } from "@pawl/proto/v1/history_pb.js";
import { OperationScope, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { json, oneTask, operation } from "../rpc/support/fixtures.js";
import type { GrpcClient } from "../rpc/support/grpc-client.js";
import { codeAndReason, Refusal } from "../rpc/support/refusal.js";
import { TestWorker } from "../rpc/support/worker.js";
import { type GuardedServer, openGuardedServer } from "./support.js";

const { method: run } = RunService;
const { method: worker } = WorkerService;
const { method: ledger } = OperationService;
const roles = ["worker", "client", "operator"];

let server: GuardedServer;
let ours: GrpcClient;
let theirs: GrpcClient;

beforeAll(async () => {
  server = await openGuardedServer();
  const admin = await server.mint("root", [{ namespace: "*", roles: ["admin"] }]);
  for (const name of ["ours", "theirs"]) {
    await server.grpcWith(admin.token).unary(AdminService.method.createNamespace, { name });
  }
  const mint = async (name: string) =>
    server.grpcWith((await server.mint(name, [{ namespace: name, roles }])).token);
  [ours, theirs] = [await mint("ours"), await mint("theirs")];
  await ours.unary(run.startRuns, { namespace: "ours", runs: [oneTask("secret-run", "k")] });
});
afterAll(async () => {
  await server.close();
  expect(server.faults).toEqual([]);
});

async function refusalOf(call: Promise<unknown>): Promise<Refusal> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Refusal);
  return error instanceof Refusal ? error : new Refusal({ code: "?", message: "" });
}

test("an id of another namespace is one that nobody has, and may be taken", async () => {
  const named = (runId: string) => ({ namespace: "theirs", runId });
  const [taken, free] = await Promise.all(
    ["secret-run", "nobodys-run"].map((runId) => refusalOf(theirs.unary(run.getRun, named(runId)))),
  );
  expect(taken?.message.replaceAll("secret-run", "…")).toBe(
    free?.message.replaceAll("nobodys-run", "…"),
  );
  expect(codeAndReason(taken)).toBe("NOT_FOUND PAWL_RUN_NOT_FOUND");
  const started = await theirs.unary(run.startRuns, {
    namespace: "theirs",
    runs: [oneTask("secret-run", "other", { input: json({ theirs: true }) })],
  });
  expect(started.results[0]).toMatchObject({ existing: false });
  const { runs } = await theirs.unary(run.listRuns, { namespace: "theirs" });
  expect(runs.map(({ runId }) => runId)).toEqual(["secret-run"]);
});

test("a rewind and a retry are of the run in the namespace that is named", async () => {
  const free = [{ namespace: "*", roles }];
  const default_ = server.grpcWith((await server.mint("everywhere", free)).token);
  for (const namespace of ["default", "ours"]) {
    await default_.unary(run.startRuns, { namespace, runs: [oneTask("twice", "k2")] });
  }
  const named = { namespace: "ours", runId: "twice" };
  const to = { case: "event", value: 1 } as const;
  expect(await ours.unary(run.rewindRun, { ...named, requestId: "w1", to })).toMatchObject({
    generation: 2,
  });
  await ours.unary(run.terminateRun, { ...named, reason: "enough" });
  const retry = { ...named, requestId: "w2", cancelled: true };
  expect(await ours.unary(run.retryRun, retry)).toMatchObject({ generation: 3 });
  const other = await default_.unary(run.getRun, { namespace: "default", runId: "twice" });
  expect(other.run).toMatchObject({ generation: 1, version: 1 });
});

test("a review of another namespace is one that is not there", async () => {
  const request = {
    namespace: "ours",
    operation: operation("pay", SinkKind.OPAQUE, {
      scope: OperationScope.NAMESPACE,
      key: "invoice-1",
      callTimeoutMs: 1,
    }),
  };
  const intended = await ours.unary(ledger.intendOperation, { ...request, intentId: "i1" });
  const { answer } = intended.answer ?? {};
  const operationKey = answer?.case === "proceed" ? answer.value.key : "";
  expect(operationKey).not.toBe("");
  await ours.unary(ledger.observeOperation, {
    namespace: "ours",
    key: operationKey,
    intentId: "i1",
    observation: { outcome: { case: "unknown", value: { kind: "Timeout", message: "cut off" } } },
  });
  await expect
    .poll(async () => {
      const next = await ours.unary(ledger.intendOperation, { ...request, intentId: "i2" });
      return next.answer?.answer.case;
    })
    .toBe("review");
  const { reviews } = await ours.unary(ReviewService.method.listReviews, { namespace: "ours" });
  const [review] = reviews;
  expect(review).toBeDefined();
  const resolve = (id: string) =>
    refusalOf(
      theirs.unary(ReviewService.method.resolveReview, {
        namespace: "theirs",
        reviewId: id,
        expectedVersion: 1,
        choice: ReviewChoice.ABANDON,
        reason: "mine",
      }),
    );
  const reviewId = review?.reviewId ?? "";
  const [there, absent] = [await resolve(reviewId), await resolve("999-0")];
  expect(codeAndReason(there)).toBe("NOT_FOUND PAWL_REVIEW_NOT_FOUND");
  expect(there.message.replaceAll(reviewId, "…")).toBe(absent.message.replaceAll("999-0", "…"));
  const mine = await theirs.unary(ReviewService.method.listReviews, { namespace: "theirs" });
  expect(mine.reviews).toEqual([]);
  const operations = await theirs.unary(ledger.listOperations, { namespace: "theirs" });
  expect(operations.operations).toEqual([]);
});

test("a proposal of another namespace is one that is not there, also for its approvers", async () => {
  const { method: approvals } = ApprovalService;
  const proposed = await ours.unary(approvals.proposeAction, {
    namespace: "ours",
    operation: "wire",
    scope: OperationScope.NAMESPACE,
    key: "invoice-2",
    target: "account-1",
    payload: json({ cents: 7 }),
    from: ["role:approver"],
    expiresIn: { seconds: 3600n },
  });
  const proposalId = proposed.proposal?.proposalId ?? "";
  const fingerprint = proposed.proposal?.fingerprint ?? new Uint8Array();
  const judge = await server.mint("judge", [{ namespace: "theirs", roles: ["approver"] }]);
  const judging = server.grpcWith(judge.token);
  const both = async (ask: (id: string) => Promise<unknown>): Promise<void> => {
    const [there, absent] = [await refusalOf(ask(proposalId)), await refusalOf(ask("999-0"))];
    expect(codeAndReason(there)).toBe("NOT_FOUND PAWL_PROPOSAL_NOT_FOUND");
    expect(there.message.replaceAll(proposalId, "…")).toBe(absent.message.replaceAll("999-0", "…"));
  };
  const namespace = "theirs";
  await both((id) =>
    judging.unary(approvals.getProposal, {
      namespace,
      which: { case: "proposalId", value: id },
    }),
  );
  await both((id) =>
    judging.unary(approvals.decideProposal, {
      namespace,
      proposalId: id,
      fingerprint,
      expectedVersion: 1,
      verdict: ProposalVerdict.APPROVE,
      reason: "mine",
    }),
  );
  await both((id) =>
    theirs.unary(approvals.withdrawProposal, {
      namespace,
      proposalId: id,
      expectedVersion: 1,
      reason: "mine",
    }),
  );
  await both(async (id) => {
    for await (const _ of judging.stream(approvals.awaitApproval, { namespace, proposalId: id })) {
      // Only how it ends is looked at.
    }
  });
  const { proposals } = await judging.unary(approvals.listProposals, { namespace });
  expect(proposals).toEqual([]);
});

test("who names the session of another worker gets one of its own", async () => {
  const first = await TestWorker.connect(ours, { namespace: "ours", sessionId: "s1" });
  first.send({ credits: 1 });
  const offer = await first.offer();
  expect(offer.runId).toBe("secret-run");
  const thief = await TestWorker.connect(theirs, { namespace: "theirs", sessionId: "s1" });
  const sibling = await server.mint("sibling", [{ namespace: "ours", roles }]);
  const also = await TestWorker.connect(server.grpcWith(sibling.token), {
    namespace: "ours",
    sessionId: "s1",
    holds: [{ handle: 5, runId: offer.runId, task: offer.task, leaseVersion: offer.leaseVersion }],
  });
  expect(also.welcome.lostHandles).toEqual([5]);
  // The lease is still the first one's: it renews, and completes.
  const { results } = await ours.unary(worker.renewLeases, {
    namespace: "ours",
    leases: [{ runId: offer.runId, task: offer.task, leaseVersion: offer.leaseVersion }],
  });
  expect(results[0]?.rejection).toBeUndefined();
  for (const each of [first, thief, also]) {
    each.stream.cancel();
  }
});

test("live output is read and emitted in its own namespace alone", async () => {
  await ours.unary(run.startRuns, { namespace: "ours", runs: [oneTask("chatty", "chat")] });
  const hand = await TestWorker.connect(ours, {
    ...{ namespace: "ours", sessionId: "chat", serves: [{ kind: "chat" }] },
  });
  hand.send({ credits: 1 });
  const { runId, task, leaseVersion, handle } = await hand.offer();
  hand.send({ emits: [{ handle, leaseVersion, number: 1, payload: json("secret") }] });
  const read = async (client: GrpcClient, namespace: string): Promise<number> => {
    let entries = 0;
    const stream = client.stream(run.readOutput, { namespace, runId, once: true });
    for await (const message of stream) entries += message.entries.length;
    return entries;
  };
  await expect.poll(() => read(ours, "ours")).toBe(1);
  const unread = await refusalOf(read(theirs, "theirs"));
  expect(codeAndReason(unread)).toBe("NOT_FOUND PAWL_RUN_NOT_FOUND");
  const unsent = await refusalOf(
    theirs.unary(worker.emitOutput, {
      ...{ namespace: "theirs", lease: { runId, task, leaseVersion } },
      chunks: [{ number: 2, payload: json("forged") }],
    }),
  );
  expect(codeAndReason(unsent)).toBe("NOT_FOUND PAWL_RUN_NOT_FOUND");
  expect(await read(ours, "ours")).toBe(1);
  hand.stream.cancel();
});

test("a watch of a namespace tells nothing of the other", async () => {
  const watch = theirs.stream(run.watchRuns, { namespace: "theirs" })[Symbol.asyncIterator]();
  await watch.next();
  await ours.unary(run.startRuns, { namespace: "ours", runs: [oneTask("quiet", "q")] });
  await theirs.unary(run.startRuns, { namespace: "theirs", runs: [oneTask("loud", "l")] });
  const { value } = await watch.next();
  const events: { readonly runId: string }[] = value?.events ?? [];
  expect(new Set(events.map(({ runId }) => runId))).toEqual(new Set(["loud"]));
  await watch.return?.();
});

test("who did something is recorded by the name of its credential", async () => {
  const history = ours.stream(run.getHistory, { namespace: "ours", runId: "secret-run" });
  // It may come in several pages.
  const all: HistoryEvent[] = [];
  for await (const { events } of history) all.push(...events);
  expect(all[0]).toMatchObject({ type: "RunStarted", principal: "ours" });
});

import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  ApprovalService,
  type ProposeActionRequestSchema,
} from "@pawl/proto/v1/approval_service_pb.js";
import { OperationScope, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { type Proposal, ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import type { Offer } from "@pawl/proto/v1/worker_service_pb.js";
import { describe, expect, test } from "vitest";
import { json, leasedRun, leaseRef, oneTask } from "../rpc/support/fixtures.js";
import { codeAndReason } from "../rpc/support/refusal.js";
import { ClockedKernel } from "./support/clocked-kernel.js";
import { eachClocked } from "./support/each-clocked.js";

const { method: approvals } = ApprovalService;
const { method: ops } = OperationService;
const { method: runs } = RunService;

const each = eachClocked();

type ProposeParts = Omit<
  Extract<MessageInitShape<typeof ProposeActionRequestSchema>, { $typeName?: never }>,
  "$typeName" | "holder"
>;

async function propose(offer: Offer, parts: ProposeParts = {}): Promise<Proposal> {
  const { proposal } = await each.kernel.grpc.unary(approvals.proposeAction, {
    ...{ holder: leaseRef(offer), operation: "refund", target: "till" },
    ...{ payload: json({ cents: 10, to: "ann" }), requesterMayDecide: true },
    ...parts,
  });
  if (proposal === undefined) throw new Error("no proposal");
  return proposal;
}

function decide(
  { proposalId, fingerprint }: Pick<Proposal, "proposalId" | "fingerprint">,
  verdict: ProposalVerdict = ProposalVerdict.APPROVE,
): Promise<string> {
  const request = { proposalId, fingerprint, expectedVersion: 1, verdict, reason: "seen" };
  return each.kernel.grpc
    .unary(approvals.decideProposal, request)
    .then(() => "decided", codeAndReason);
}

type Action = {
  readonly target?: string;
  readonly payload?: ReturnType<typeof json>;
  readonly key?: string;
};

async function intend(offer: Offer, action: Action = {}): Promise<string> {
  const operation = {
    ...{ name: "refund", target: "till", payload: json({ cents: 10, to: "ann" }) },
    ...{ sink: { kind: SinkKind.OPAQUE }, ...action },
  };
  const request = { holder: leaseRef(offer), intentId: "i1", operation };
  return await each.kernel.grpc
    .unary(ops.intendOperation, request)
    .then(({ answer }) => answer?.answer.case ?? "nothing", codeAndReason);
}

async function statusOf(proposalId: string): Promise<Proposal> {
  const which = { case: "proposalId", value: proposalId } as const;
  const { proposal } = await each.kernel.grpc.unary(approvals.getProposal, { which });
  if (proposal === undefined) throw new Error("no proposal");
  return proposal;
}

describe("E1: approved one thing, ran another", () => {
  test("nothing but exactly what was approved is let through, and the order of keys does not matter", async () => {
    const offer = await leasedRun(each.kernel.grpc, "r");
    await decide(await propose(offer));
    const conflict = "ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT";
    expect(await intend(offer, { payload: json({ cents: 11, to: "ann" }) })).toBe(conflict);
    expect(await intend(offer, { payload: json({ cents: 10, to: "ann", fee: 1 }) })).toBe(conflict);
    expect(await intend(offer, { target: "another till" })).toBe(conflict);
    expect(await intend(offer, { payload: json({ to: "ann", cents: 10 }) })).toBe("proceed");
  });

  test("an answer to one proposal never reaches another of the same operation", async () => {
    const offer = await leasedRun(each.kernel.grpc, "r");
    const first = await propose(offer, { key: "1" });
    const second = await propose(offer, { key: "2", payload: json({ cents: 99 }) });
    await decide(first);
    expect(await decide({ ...second, fingerprint: first.fingerprint })).toBe(
      "ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT",
    );
    expect(await intend(offer, { key: "2", payload: json({ cents: 99 }) })).toBe("awaiting");
    expect(await intend(offer, { key: "1" })).toBe("proceed");
  });
});

describe("E2: an expiry that nobody enforces", () => {
  test("is looked at with every decision and every use, and ends the proposal by itself, also while the kernel is down", async () => {
    const second = { seconds: 1n, nanos: 0 };
    const offer = await leasedRun(each.kernel.grpc, "r");
    const pending = await propose(offer, { key: "1", expiresIn: second });
    const approved = await propose(offer, { key: "2", expiresIn: second });
    await decide(approved);
    await each.kernel.kill();
    await each.kernel.time.pass(1_001);
    await each.kernel.start();
    // Nothing has swept yet: no timer of the new kernel has had its time.
    expect(await decide(pending)).toBe("FAILED_PRECONDITION PAWL_PROPOSAL_CLOSED");
    expect(await intend(offer, { key: "2" })).toBe("awaiting");
    await each.kernel.time.pass(100);
    expect((await statusOf(pending.proposalId)).status).toBe(ProposalStatus.EXPIRED);
    expect((await statusOf(approved.proposalId)).status).toBe(ProposalStatus.EXPIRED);
  });
});

describe("E4: the approver is whoever the caller says", () => {
  test("who decides is what the connection proved, and the requester is refused in the core", async () => {
    const offer = await leasedRun(each.kernel.grpc, "r");
    const proposal = await propose(offer, { requesterMayDecide: false });
    // There is no field to say another name in; whoever proves nothing counts as the requester.
    expect(await decide(proposal)).toBe("PERMISSION_DENIED PAWL_NOT_ENTITLED");
    const named = await propose(offer, { key: "2", from: ["user:ann"] });
    expect(await decide(named)).toBe("PERMISSION_DENIED PAWL_NOT_ENTITLED");
    expect(await intend(offer)).toBe("awaiting");
  });
});

describe("E5: the hash covers too much, or too little", () => {
  test("another note is the same action; another content is another one", async () => {
    const offer = await leasedRun(each.kernel.grpc, "r");
    const display = { title: "Refund", note: "please", fields: [] };
    const first = await propose(offer, { display });
    await decide(first);
    const again = await propose(offer, { display: { ...display, note: "worded anew" } });
    expect(again).toMatchObject({ proposalId: first.proposalId, status: ProposalStatus.APPROVED });
    const other = propose(offer, { display, payload: json({ cents: 10 }) });
    expect(await other.catch(codeAndReason)).toBe("ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT");
  });
});

describe("E6: an approval outlives the deployment", () => {
  test("what was proposed before a restart is approved after it, without any worker, and performed by another one", async () => {
    const namespaced = { scope: OperationScope.NAMESPACE, key: "invoice-1" };
    const { proposal } = await each.kernel.grpc.unary(approvals.proposeAction, {
      ...{ ...namespaced, operation: "refund", target: "till", payload: json({ cents: 1 }) },
      requesterMayDecide: true,
    });
    await each.kernel.kill();
    await each.kernel.time.pass(6 * 86_400_000);
    await each.kernel.start();
    if (proposal === undefined) throw new Error("no proposal");
    expect(await decide(proposal)).toBe("decided");
    await each.kernel.kill();
    await each.kernel.start();
    const { answer } = await each.kernel.grpc.unary(ops.intendOperation, {
      intentId: "i1",
      operation: {
        ...{ ...namespaced, name: "refund", target: "till", payload: json({ cents: 1 }) },
        sink: { kind: SinkKind.OPAQUE },
      },
    });
    expect(answer?.answer.case).toBe("proceed");
  });

  test("and after a restore under another secret: only its old positions are told why they are over", async () => {
    const offer = await leasedRun(each.kernel.grpc, "r");
    const watch = each.kernel.grpc.stream(approvals.watchProposals, {})[Symbol.asyncIterator]();
    const { position } = (await watch.next()).value ?? {};
    const pending = await propose(offer, { key: "1" });
    const approved = await propose(offer, { key: "2", payload: json({ cents: 2 }) });
    await decide(approved);
    const watchFrom = async (from: Uint8Array | undefined): Promise<string> => {
      const goesOn = each.kernel.grpc
        .stream(approvals.watchProposals, {
          ...(from === undefined ? {} : { position: from }),
        })
        [Symbol.asyncIterator]();
      const first = await goesOn.next().then(() => "goes on", codeAndReason);
      await goesOn.return?.();
      return first;
    };
    expect(await watchFrom(position)).toBe("goes on");

    await each.kernel.kill();
    await each.kernel.restore();
    await each.kernel.start();
    expect(await watchFrom(position)).toBe("ABORTED PAWL_STORE_REWOUND");
    await each.kernel.kill();
    await each.kernel.start({ secret: new Uint8Array(32).fill(99) });
    expect(await watchFrom(position)).toBe("INVALID_ARGUMENT PAWL_INVALID_POSITION");
    expect(await watchFrom(undefined)).toBe("goes on");

    // The approval is of the action, not of a life of the store.
    expect(await decide(pending)).toBe("decided");
    expect(await intend(offer, { key: "1" })).toBe("proceed");
    expect(await intend(offer, { key: "2" })).toBe("ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT");
    expect(await intend(offer, { key: "2", payload: json({ cents: 2 }) })).toBe("proceed");
  });
});

describe("E9: untrue words", () => {
  test("what is said of a proposal is true in every state, and says what may be done next", async () => {
    const offer = await leasedRun(each.kernel.grpc, "r");
    const wordsOf = async ({ proposalId }: Proposal): Promise<string> =>
      (await statusOf(proposalId)).explanation;
    const minute = { seconds: 60n, nanos: 0 };
    const pending = await propose(offer, { key: "1", expiresIn: minute });
    expect(await wordsOf(pending)).toMatch(
      /waits for an approval by role approver.*approvals show/,
    );
    await decide(pending);
    expect(await wordsOf(pending)).toMatch(/was approved by "local" \(unauthenticated\).*revoked/);
    const used = await propose(offer, { key: "2" });
    await decide(used);
    await intend(offer, { key: "2" });
    expect(await wordsOf(used)).toMatch(/was begun.*pawl op show/);
    const rejected = await propose(offer, { key: "3" });
    await decide(rejected, ProposalVerdict.REJECT);
    expect(await wordsOf(rejected)).toMatch(
      /rejected by .*: seen.*authorises nothing.*proposed anew/,
    );
    const revised = await propose(offer, { key: "4" });
    const newer = await propose(offer, {
      ...{ key: "4", payload: json({ cents: 9 }), revises: revised.proposalId },
    });
    expect(await wordsOf(revised)).toContain(`Proposal ${newer.proposalId} took its place`);
    await each.kernel.time.pass(61_000);
    expect(await wordsOf(pending)).toMatch(/authorises nothing/);
    const late = decide({ ...pending, fingerprint: new Uint8Array(32) });
    expect(await late).toBe("ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT");
  });
});

describe("E10: a pause that is no pause", () => {
  test("a store that takes nothing lets no proposed action through", async () => {
    const offer = await leasedRun(each.kernel.grpc, "r");
    const proposal = await propose(offer);
    each.kernel.disk.holdWrites = true;
    const asked = [decide(proposal), intend(offer)];
    const silence = new Promise((resolve) => setTimeout(() => resolve("no answer"), 200));
    expect(await Promise.race([...asked, silence])).toBe("no answer");
    each.kernel.disk.holdWrites = false;
    each.kernel.disk.flush();
    await Promise.allSettled(asked);
  });

  test("nor does one that is read-only: it says so, whatever was approved before, and after the operator's word all goes on", async () => {
    const offer = await leasedRun(each.kernel.grpc, "r");
    const pending = await propose(offer, { key: "1" });
    const approved = await propose(offer, { key: "2" });
    await decide(approved);
    // Someone brings a position that this store has acknowledged and does not have.
    const further = await ClockedKernel.open();
    const starts = Array.from({ length: 50 }, (_, index) => oneTask(`further-${index}`, "k"));
    const { position } = await further.grpc.unary(runs.startRuns, { runs: starts });
    await further.close();
    const watch = each.kernel.grpc.stream(runs.watchRuns, { position })[Symbol.asyncIterator]();
    expect(await watch.next().catch(codeAndReason)).toBe("DATA_LOSS PAWL_DATA_LOSS");

    const refused = "UNAVAILABLE PAWL_READ_ONLY";
    for (const restarts of [0, 1]) {
      if (restarts === 1) {
        await each.kernel.kill();
        await each.kernel.start();
      }
      expect(await decide(pending)).toBe(refused);
      expect(await decide(pending, ProposalVerdict.REJECT)).toBe(refused);
      expect(await intend(offer, { key: "1" })).toBe(refused);
      expect(await intend(offer, { key: "2" })).toBe(refused);
      expect(await propose(offer, { key: "3" }).catch(codeAndReason)).toBe(refused);
      expect((await statusOf(pending.proposalId)).status).toBe(ProposalStatus.PENDING);
      expect((await statusOf(approved.proposalId)).status).toBe(ProposalStatus.APPROVED);
    }
    await each.kernel.kill();
    await each.kernel.restore();
    await each.kernel.start();
    expect(await intend(offer, { key: "1" })).toBe("awaiting");
    expect(await intend(offer, { key: "2" })).toBe("proceed");
  });
});

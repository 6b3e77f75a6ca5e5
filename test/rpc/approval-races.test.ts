import { setImmediate } from "node:timers/promises";
import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { type Proposal, ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import type { Offer } from "@pawl/proto/v1/worker_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { expect, test } from "vitest";
import { eachClocked } from "../field-reports/support/each-clocked.js";
import { Prng } from "../simulation/support/prng.js";
import { json, leaseRef, oneTask } from "./support/fixtures.js";
import { codeAndReason } from "./support/refusal.js";

const { method: approvals } = ApprovalService;
const { method: ops } = OperationService;

const each = eachClocked();

const prng = new Prng(20_261_129);
const rounds = 20;
const racesPerRound = 50;
const lifeMs = 1_000;

interface Race {
  readonly offer: Offer;
  readonly proposal: Proposal;
}

const action = { operation: "refund", target: "till", payload: json({ cents: 12 }) };

async function prepare(round: number): Promise<Race[]> {
  const { grpc } = each.kernel;
  const ids = Array.from({ length: racesPerRound }, (_, index) => `r${round}-${index}`);
  await grpc.unary(RunService.method.startRuns, { runs: ids.map((id) => oneTask(id, "pay")) });
  const offers: Offer[] = [];
  while (offers.length < racesPerRound) {
    const claim = {
      ...{ worker: "w", sessionId: `s${round}-${offers.length}`, serves: [{ kind: "pay" }] },
      ...{ tasksMax: racesPerRound, once: true, wait: { seconds: 5n } },
    };
    for await (const answer of grpc.stream(WorkerService.method.claimTasks, claim)) {
      offers.push(...answer.offers);
    }
  }
  return await Promise.all(offers.map(proposeFor));
}

async function proposeFor(offer: Offer): Promise<Race> {
  const { proposal } = await each.kernel.grpc.unary(approvals.proposeAction, {
    ...{ ...action, holder: leaseRef(offer), requesterMayDecide: true },
    expiresIn: { seconds: BigInt(lifeMs / 1000), nanos: 0 },
  });
  if (proposal === undefined) throw new Error("no proposal");
  return { offer, proposal };
}

type Move = (race: Race) => Promise<string>;

function decide(verdict: ProposalVerdict): Move {
  return async ({ proposal: { proposalId, fingerprint } }) => {
    const request = { proposalId, fingerprint, expectedVersion: 1, verdict, reason: "mine" };
    return await each.kernel.grpc
      .unary(approvals.decideProposal, request)
      .then(() => `decided ${verdict}`, codeAndReason);
  };
}

const moves: Readonly<Record<string, Move>> = {
  approve: decide(ProposalVerdict.APPROVE),
  reject: decide(ProposalVerdict.REJECT),
  withdraw: async ({ proposal: { proposalId } }) =>
    await each.kernel.grpc
      .unary(approvals.withdrawProposal, { proposalId, expectedVersion: 1 })
      .then(() => "withdrawn", codeAndReason),
  revoke: async ({ proposal: { proposalId } }) =>
    await each.kernel.grpc
      .unary(approvals.revokeApproval, { proposalId, expectedVersion: 2, reason: "mine" })
      .then(() => "revoked", codeAndReason),
  consume: async ({ offer }) => {
    const { operation: name, target, payload } = action;
    const { answer } = await each.kernel.grpc.unary(ops.intendOperation, {
      ...{ holder: leaseRef(offer), intentId: "i1" },
      operation: { name, target, payload, sink: { kind: SinkKind.OPAQUE } },
    });
    return answer?.answer.case === "proceed" ? "called" : "told to wait";
  },
  expire: async () => {
    // Time passes while the others are on their way, now before and now after them.
    for (let turns = prng.below(400); turns > 0; turns--) await setImmediate();
    await each.kernel.time.pass(lifeMs / 30);
    return "time passed";
  },
};

const { APPROVED, REJECTED, EXPIRED, WITHDRAWN, CONSUMED, REVOKED } = ProposalStatus;

/** What must have been answered, and what not, for a proposal that ended so. */
function expectOneWinner(status: ProposalStatus, answers: ReadonlyMap<string, string>): void {
  const said = new Set(answers.values());
  expect(said.has("called")).toBe(status === CONSUMED);
  expect(said.has("revoked")).toBe(status === REVOKED);
  expect(said.has("withdrawn")).toBe(status === WITHDRAWN);
  expect(said.has(`decided ${ProposalVerdict.REJECT}`)).toBe(status === REJECTED);
  const approvedFirst = status === APPROVED || status === CONSUMED || status === REVOKED;
  expect(said.has(`decided ${ProposalVerdict.APPROVE}`)).toBe(
    approvedFirst || (status === EXPIRED && said.has(`decided ${ProposalVerdict.APPROVE}`)),
  );
}

const legalAnswers =
  /^(decided \d|withdrawn|revoked|called|told to wait|time passed|FAILED_PRECONDITION PAWL_(PROPOSAL_CLOSED|STALE_VERSION))$/;

/** Two to six of the moves, in some order. */
function draw(): string[] {
  const left = Object.keys(moves);
  const drawn: string[] = [];
  for (let count = prng.between(2, 6); count > 0; count--) {
    drawn.push(...left.splice(prng.below(left.length), 1));
  }
  return drawn;
}

async function runRace(race: Race, names: readonly string[]): Promise<ProposalStatus> {
  // All are sent before any is answered; how they are taken in is what the race is about.
  const answers = await Promise.all(
    names.map(async (name) => [name, (await moves[name]?.(race)) ?? ""] as const),
  );
  const which = { case: "proposalId", value: race.proposal.proposalId } as const;
  const { proposal } = await each.kernel.grpc.unary(approvals.getProposal, { which });
  const status = proposal?.status ?? ProposalStatus.UNSPECIFIED;
  expectOneWinner(status, new Map(answers));
  for (const [, answer] of answers) expect(answer).toMatch(legalAnswers);
  return status;
}

test("1,000 races of approve, reject, withdraw, revoke, consume and expiry have one winner each", {
  timeout: 120_000,
}, async () => {
  const ends = new Set<ProposalStatus>();
  for (let round = 0; round < rounds; round++) {
    const races = await prepare(round);
    const ended = await Promise.all(races.map((race) => runRace(race, draw())));
    for (const status of ended) ends.add(status);
  }
  expect(ends).toEqual(
    new Set([
      ...[ProposalStatus.PENDING, APPROVED, REJECTED, WITHDRAWN, CONSUMED, REVOKED, EXPIRED],
    ]),
  );
});

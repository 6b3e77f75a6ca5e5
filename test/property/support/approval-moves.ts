import { OperationScope, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { localCaller, localStanding } from "@pawl/server/core/caller.js";
import type {
  Command,
  IntendOperation,
  ProposeAction,
  StartRun,
} from "@pawl/server/core/command.js";
import type { DecideContext } from "@pawl/server/core/context.js";
import type { Proposal, Run } from "@pawl/server/core/state.js";
import { fingerprint, payload } from "../../core/support/values.js";
import type { Move } from "./moves.js";

const callers = ["ann", "bob", "carl", "local"] as const;

/** Who gives the command of a move, and what all principals may do: `carl` could decide, but may not any more when it counts. */
export function contextOf(move: Move): Partial<DecideContext> {
  const principal = callers[move.which % callers.length] ?? "local";
  const caller =
    principal === "local" ? localCaller : { principal, roles: ["approver"], authenticated: true };
  return {
    ...caller,
    random: () => move.pick / 12,
    standingOf: (namespace, name) => {
      if (name === "carl") {
        return undefined;
      }
      return name === "local" ? localStanding(namespace, name) : ["approver"];
    },
  };
}

/** What an intent says of proposals: mostly nothing, sometimes the newest; and what the guarded document is now. */
export function restsOn(run: Run, move: Move): Pick<IntendOperation, "proposal" | "guards"> {
  const newest = run.proposals.length - 1;
  return {
    proposal: move.pick % 6 === 5 && newest >= 0 ? newest : undefined,
    guards: [{ name: "document", value: move.pick === 7 ? "v2" : "v1" }],
  };
}

/** The command of a move about proposals. */
export function approvalOf(
  run: Run,
  verb: "propose" | "decide" | "withdraw" | "revoke" | "expire",
  move: Move,
): Exclude<Command, StartRun> {
  if (verb === "propose") {
    return proposalOf(run, move);
  }
  if (verb === "expire") {
    return { kind: "ExpireProposals" };
  }
  const wanted = verb === "revoke" ? ProposalStatus.APPROVED : ProposalStatus.PENDING;
  const proposal = pickProposal(run, move, wanted);
  const named = {
    namespace: "default",
    proposal: proposal?.number ?? 0,
    proposalId: "1-p0",
    expectedVersion: (proposal?.version ?? 1) - move.stale,
    reason: "looked",
  };
  switch (verb) {
    case "decide": {
      const isNo = move.pick === 11;
      const shown = proposal?.declaration.fingerprint ?? fingerprint(10);
      return {
        kind: "DecideProposal",
        ...named,
        fingerprint: move.pick === 10 ? fingerprint(99) : shown,
        verdict: isNo ? ProposalVerdict.REJECT : ProposalVerdict.APPROVE,
      };
    }
    case "withdraw":
      return { kind: "WithdrawProposal", ...named };
    default:
      return { kind: "RevokeApproval", ...named };
  }
}

function pickProposal(run: Run, move: Move, wanted: ProposalStatus): Proposal | undefined {
  const suited = run.proposals.filter(({ status }) => status === wanted);
  const among = move.aims && suited.length > 0 ? suited : run.proposals;
  return among[move.which % Math.max(1, among.length)];
}

/** Mostly of the operations that `intend` intends, so that approvals are used. */
function proposalOf(run: Run, move: Move): ProposeAction {
  const isLedger = run.kind === "ledger";
  const sinkKind = [SinkKind.IDEMPOTENT, SinkKind.RECONCILABLE, SinkKind.OPAQUE][move.pick % 3];
  const isOfRun = move.pick >= 9;
  const leased = run.tasks.filter(({ status }) => status === TaskStatus.LEASED);
  const task = leased[move.which % Math.max(1, leased.length)];
  const last = run.proposals.length - 1;
  return {
    kind: "ProposeAction",
    namespace: "default",
    lease: isLedger
      ? undefined
      : { task: task?.number ?? 0, leaseVersion: (task?.leaseVersion ?? 1) - move.stale },
    name: isLedger ? "pay" : `op${sinkKind}`,
    scope: isLedger ? OperationScope.NAMESPACE : isOfRun ? OperationScope.RUN : OperationScope.TASK,
    key: isLedger ? "invoice-1" : undefined,
    target: "till",
    payload: payload({ amount: move.content }),
    fingerprint: fingerprint(10 + move.content),
    from: ["role:approver"],
    need: move.pick % 4 === 3 ? 2 : 1,
    requesterMayDecide: move.which % 2 === 0,
    expiresInMs: 15_000,
    guards: move.pick % 2 === 0 ? [] : [{ name: "document", value: "v1" }],
    display: undefined,
    revises: move.pick % 4 === 2 && last >= 0 ? last : undefined,
  };
}

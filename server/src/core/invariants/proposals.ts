import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { equalBytes } from "../identity/content-digest.js";
import { countApprovals } from "../proposals.js";
import type { Operation, Proposal, Run } from "../state.js";
import { isProposalOpen, isRunOpen, isTaskClosed, proposalStatusName } from "../transitions.js";
import { breaches, type Rule, type Violation, violation } from "./violation.js";

/** Violations of proposals, of the set of open ones, of the index of keys, and of operations that rest on one. */
export function findProposalViolations(run: Run): Violation[] {
  const present = run.proposals.filter(({ dropped }) => dropped === 0);
  const open = run.proposals.filter(({ status }) => isProposalOpen(status)).length;
  const keys = new Set(present.map(({ declaration }) => declaration.key)).size;
  return [
    ...breaches("run", [
      [run.openProposals.size === open, `${open} open proposals`, `${run.openProposals.size}`],
      [run.proposalsByKey.size === keys, `${keys} keys of proposals`, `${run.proposalsByKey.size}`],
    ]),
    ...run.proposals.flatMap((proposal, number) =>
      breaches(`proposal ${number}`, [
        [proposal.number === number, `number ${number}`, `${proposal.number}`],
        ...rulesOfState(run, proposal),
        ...rulesOfDecisions(proposal),
        ...(proposal.dropped === 0 ? rulesOfChain(run, proposal) : []),
        ...rulesOfUse(run, proposal),
      ]),
    ),
    ...run.operations.flatMap((operation) =>
      breaches(`operation ${operation.number}`, rulesOfOperation(run, operation)),
    ),
  ];
}

/** Proposals that should have ended with their run or task. */
export function findNeedlessProposals(run: Run): Violation[] {
  if (run.kind === "ledger") {
    return [];
  }
  return [...run.openProposals].flatMap((number) => {
    const declaration = run.proposals[number]?.declaration;
    const task = run.tasks[declaration?.task ?? 0];
    const isOfTask = declaration?.scope === OperationScope.TASK;
    const isNeedless =
      !isRunOpen(run.status) ||
      run.cancelRequestedAtMs !== 0 ||
      (isOfTask && task !== undefined && isTaskClosed(task.status));
    return isNeedless
      ? [violation(`proposal ${number}`, "ended with its run or task", "it is open")]
      : [];
  });
}

function rulesOfState(run: Run, proposal: Proposal): Rule[] {
  const { status, version, approvedAtMs, endedAtMs, proposedAtMs } = proposal;
  const name = proposalStatusName(status);
  const isOpen = isProposalOpen(status);
  const wasApproved = approvedAtMs !== 0;
  const changes = (wasApproved ? 1 : 0) + (isOpen ? 0 : 1);
  return [
    [run.openProposals.has(proposal.number) === isOpen, "open exactly while it is", name],
    [isOpen === (endedAtMs === 0), "endedAtMs exactly when it ended", `${endedAtMs}`],
    [version === 1 + changes, `version ${1 + changes} in ${name}`, `${version}`],
    [
      !needsApproval.has(status) || wasApproved,
      `an approval before it is ${name}`,
      `${approvedAtMs}`,
    ],
    [!neverApproved.has(status) || !wasApproved, `no approval before it is ${name}`, "one"],
    [!wasApproved || approvedAtMs >= proposedAtMs, "approved after it was proposed", "before"],
  ];
}

const { PENDING, APPROVED, CONSUMED, REVOKED, STALE, REJECTED, WITHDRAWN, SUPERSEDED } =
  ProposalStatus;
const needsApproval: ReadonlySet<ProposalStatus> = new Set([APPROVED, CONSUMED, REVOKED, STALE]);
const neverApproved: ReadonlySet<ProposalStatus> = new Set([
  PENDING,
  REJECTED,
  WITHDRAWN,
  SUPERSEDED,
]);

function rulesOfDecisions(proposal: Proposal): Rule[] {
  const { decisions, declaration, approvedAtMs, status } = proposal;
  const isRejected = decisions.some(({ verdict }) => verdict === ProposalVerdict.REJECT);
  const approvals = countApprovals(proposal);
  const unapproved = decisions.filter(({ verdict }) => verdict === ProposalVerdict.APPROVE);
  return [
    [declaration.need >= 1, "at least one approval needed", `${declaration.need}`],
    [declaration.from.length >= 1, "somebody who may decide", "nobody"],
    [
      (approvedAtMs !== 0) === approvals >= declaration.need,
      "approved exactly by as many as are needed",
      `${approvals} of ${declaration.need}`,
    ],
    [unapproved.length === approvals, "one approval of each principal", `${unapproved.length}`],
    [
      isRejected === (status === ProposalStatus.REJECTED),
      "a no exactly when it is REJECTED",
      proposalStatusName(status),
    ],
  ];
}

function rulesOfChain(run: Run, proposal: Proposal): Rule[] {
  const { declaration, number, revisedBy } = proposal;
  const revised = declaration.revises === 0 ? undefined : run.proposals[declaration.revises - 1];
  const newest = run.proposalsByKey.get(declaration.key);
  return [
    [
      declaration.revises === 0 || revised?.revisedBy === number,
      "the revised one to name it",
      `${revised?.revisedBy}`,
    ],
    [
      declaration.revises === 0 || revised?.declaration.key === declaration.key,
      "to revise one of its own key",
      `${revised?.declaration.key}`,
    ],
    [
      (revisedBy === undefined) === (newest === number),
      "revised exactly unless it is the newest of its key",
      `${revisedBy}`,
    ],
    [
      revisedBy === undefined || !isProposalOpen(proposal.status),
      "ended when it was revised",
      proposalStatusName(proposal.status),
    ],
  ];
}

function rulesOfUse(run: Run, proposal: Proposal): Rule[] {
  const { operation: number, status, intentId } = proposal;
  const operation = number === undefined ? undefined : run.operations[number];
  const isConsumed = status === CONSUMED;
  if (proposal.number < run.proposalBase) {
    return [[number === undefined, "no operation, since its incarnation is over", `${number}`]];
  }
  return [
    [isConsumed === (number !== undefined), "an operation exactly when CONSUMED", `${number}`],
    [isConsumed === (intentId !== ""), "a call exactly when CONSUMED", intentId],
    [
      !isConsumed || operation?.proposal === proposal.number,
      "its operation to name it",
      `${operation?.proposal}`,
    ],
  ];
}

/** No operation whose action was proposed is intended without exactly that approval. */
function rulesOfOperation(run: Run, operation: Operation): Rule[] {
  const { key, fingerprint } = operation.declaration;
  const newest = run.proposalsByKey.get(key);
  const proposal = operation.proposal === undefined ? undefined : run.proposals[operation.proposal];
  return [
    [
      newest === operation.proposal,
      "to rest on the newest proposal of its key",
      `${operation.proposal}, and ${newest} is`,
    ],
    [
      proposal === undefined || equalBytes(proposal.declaration.fingerprint, fingerprint),
      "the fingerprint that was approved",
      "another",
    ],
    [!operation.retryAllowed || proposal !== undefined, "an approval to be retried", "none"],
  ];
}

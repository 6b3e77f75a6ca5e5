import type { ProposalInfo } from "@pawl/sdk";
import type { Scene } from "./scene.js";
import type { ExpectedApproval } from "./windows.js";

/** Compares what became of the proposals of a run with what must. Empty when all is right, else what is wrong, for people. */
export async function judgeApproval(
  scene: Scene,
  operationKey: string,
  expected: ExpectedApproval,
): Promise<string> {
  const { approvals } = scene.clientAs("client");
  const proposals: ProposalInfo[] = [];
  for await (const { proposalId } of approvals.list({ runId: scene.runId })) {
    proposals.push(await approvals.get(proposalId));
  }
  const problems = [
    differs("proposals", expected.proposals, proposals.length),
    ...proposals.map((proposal, place) => judgeLink(proposal, proposals, place)),
    ...proposals.slice(-1).map((last) => judgeLast(last, operationKey, expected)),
  ];
  return problems.filter((problem) => problem !== "").join("; ");
}

/** Each but the first revises the one before it, both say so, and none but the last was used. */
function judgeLink(
  { proposalId, revises, revisedBy, status }: ProposalInfo,
  all: readonly ProposalInfo[],
  place: number,
): string {
  const next = all[place + 1];
  if (next !== undefined && status === "consumed") return `${proposalId} was used, and replaced`;
  return (
    differs(`${proposalId} to revise`, all[place - 1]?.proposalId, revises) ||
    differs(`${proposalId} to be revised by`, next?.proposalId, revisedBy)
  );
}

function judgeLast(
  { operationKey, status, decisions }: ProposalInfo,
  key: string,
  expected: ExpectedApproval,
): string {
  const approvers = decisions.map(({ principal }) => principal).toSorted();
  return (
    differs("the approved operation", key, operationKey) ||
    differs("the last proposal", expected.status, status) ||
    differs("its approvers", expected.approvers.join(), approvers.join())
  );
}

function differs<T>(what: string, expected: T, found: T): string {
  return expected === found ? "" : `expected ${what} to be ${expected}, but it is ${found}`;
}

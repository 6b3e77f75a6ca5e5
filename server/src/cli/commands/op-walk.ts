import type { HistoryEvent } from "@pawl/proto/v1/history_pb.js";
import type { Operation } from "@pawl/proto/v1/operation_pb.js";
import { CALL_TIMEOUT_MS } from "../connection.js";
import { principalName } from "../format/principal.js";
import { describeDecision, requesterOf } from "../format/proposal.js";
import { clean } from "../format/text.js";
import { formatTime } from "../format/time.js";
import { readProposal } from "../read-proposal.js";
import type { KernelSession } from "../with-kernel.js";

/** Who allowed an operation: the way from an effect back to people. */
export async function printApproval(session: KernelSession, proposalId: string): Promise<void> {
  const { out } = session;
  const { proposal } = await readProposal(session, proposalId);
  out.lines("", out.style("bold", `Allowed by proposal ${clean(proposalId)}:`));
  out.fields([
    ["requested by", requesterOf(proposal)],
    ["proposed", formatTime(proposal.proposedAt, out.clock)],
    ...proposal.decisions.map(
      (decision) => ["decision", describeDecision(decision, out.clock)] as const,
    ),
    ["used by call", proposal.consumedByIntent],
  ]);
}

/** Which attempts called, and how each call ended, from the history of its run. */
export async function printCalls(
  { kernel, namespace, out }: KernelSession,
  { runId, key, task }: Operation,
): Promise<void> {
  const rows: string[][] = [];
  const attempts = new Map<string, number>();
  // Whoever called tells how the call ended: an outcome is taken of the latest call only.
  let caller = "";
  const pages = kernel.runs.getHistory({ namespace, runId }, { timeoutMs: CALL_TIMEOUT_MS });
  for await (const { events } of pages) {
    for (const event of events) {
      if (event.type === "TaskLeased") {
        attempts.set(event.task, event.attempt);
      } else if (event.operationKey === key) {
        if (event.task !== "") caller = attemptOf(event.task, attempts);
        rows.push([
          formatTime(event.at, out.clock),
          event.type,
          actorOf(event, caller, attemptOf(task, attempts)),
          event.detail,
        ]);
      }
    }
  }
  if (rows.length > 0) out.table(["WHEN", "EVENT", "BY", "WHAT"], rows);
}

/** Who did it: the kernel finds doubt by itself, the attempt that now runs looks up, and a person resolves. */
function actorOf({ type, principal }: HistoryEvent, caller: string, current: string): string {
  switch (type) {
    case "OperationIntended":
    case "OperationObserved":
      return caller;
    case "OperationReconciled":
      return current;
    case "OperationDoubted":
      return "the kernel";
    default:
      return principal === "" ? "" : principalName(principal);
  }
}

function attemptOf(task: string, attempts: ReadonlyMap<string, number>): string {
  return task === "" ? "" : `${task}, attempt ${attempts.get(task) ?? "unknown"}`;
}

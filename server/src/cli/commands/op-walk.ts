import type { HistoryEvent } from "@pawl/proto/v1/history_pb.js";
import type { Operation } from "@pawl/proto/v1/operation_pb.js";
import { CALL_TIMEOUT_MS } from "../connection.js";
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
  { runId, key }: Operation,
): Promise<void> {
  const rows: string[][] = [];
  const attempts = new Map<string, number>();
  const pages = kernel.runs.getHistory({ namespace, runId }, { timeoutMs: CALL_TIMEOUT_MS });
  for await (const { events } of pages) {
    for (const event of events) {
      if (event.type === "TaskLeased") {
        attempts.set(event.task, event.attempt);
      } else if (event.operationKey === key) {
        rows.push([
          formatTime(event.at, out.clock),
          event.type,
          callerOf(event, attempts),
          event.detail,
        ]);
      }
    }
  }
  if (rows.length > 0) out.table(["WHEN", "EVENT", "BY", "WHAT"], rows);
}

function callerOf({ task }: HistoryEvent, attempts: ReadonlyMap<string, number>): string {
  return task === "" ? "" : `${task}, attempt ${attempts.get(task) ?? "unknown"}`;
}

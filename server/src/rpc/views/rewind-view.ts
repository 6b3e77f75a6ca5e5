import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RewindOutcomeSchema } from "@pawl/proto/v1/rewind_pb.js";
import type { RewindReport } from "../../core/rewind-report.js";
import { proposalId } from "./proposal-id.js";

/** Entries of one list that are said. */
const entriesMax = 1000;

/** `pawl.v1.RewindOutcome` of what became of a run, or would. */
export function rewindView(
  report: RewindReport,
  runNumber: number,
): MessageInitShape<typeof RewindOutcomeSchema> {
  const { reopened, gone, dropped, operations, messages, children, endedProposals } = report;
  const lists = [reopened, gone, dropped, operations, messages, children, endedProposals];
  const leftOff = lists.reduce((sum, { length }) => sum + Math.max(0, length - entriesMax), 0);
  return {
    reopened: firstOf(reopened),
    gone: firstOf(gone),
    dropped: firstOf(dropped).map(({ kind, task, name, key }) => ({
      ...{ kind, task, name },
      ...(key === undefined ? {} : { key }),
    })),
    operations: firstOf(operations),
    messages: firstOf(messages).map(({ kind, name, requestId, isUnread }) => ({
      ...{ kind, name, requestId, unread: isUnread },
    })),
    children: firstOf(children).map(({ runId, isOpen }) => ({ runId, open: isOpen })),
    endedProposals: firstOf(endedProposals).map((number) => proposalId(runNumber, number)),
    toldParent: report.toldParent,
    leftOff,
  };
}

function firstOf<T>(list: readonly T[]): T[] {
  return list.slice(0, entriesMax);
}

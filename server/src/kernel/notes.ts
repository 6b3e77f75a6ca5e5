import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventBody } from "../core/event.js";
import { nameOfTask } from "../core/plan/tasks-of-run.js";
import type { Run } from "../core/state.js";
import type { Log, LogFields } from "../observe/log.js";

/** Lines that one commit may add to the log; of the rest only the number is told. */
const linesMax = 50;

/** What whoever runs the kernel should read of an event. */
export interface Note {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly fields: LogFields;
}

/** How a lease ends that its worker did not end. Absent: that is no news. */
const troubles: Readonly<Partial<Record<LeaseEndReason, string>>> = {
  [LeaseEndReason.EXPIRED]: "A worker did not renew its lease",
  [LeaseEndReason.NOT_ACKNOWLEDGED]: "A worker did not take a task that it was offered",
  [LeaseEndReason.NOT_HELD]: "A worker came back without a task that it held",
  [LeaseEndReason.TIMED_OUT]: "An attempt ran longer than its task allows",
  [LeaseEndReason.GRACE_OVER]: "An attempt did not stop in time when it was cancelled",
};

/** How a run ends that somebody should hear of. */
const ends: Readonly<Partial<Record<RunStatus, string>>> = {
  [RunStatus.FAILED]: "A run has failed",
  [RunStatus.TERMINATED]: "A run was terminated",
};

/** How a proposal ends that somebody should hear of. */
const proposalEnds: Readonly<Partial<Record<ProposalStatus, string>>> = {
  [ProposalStatus.EXPIRED]: "A proposal or its approval has expired",
  [ProposalStatus.WITHDRAWN]: "A proposal was withdrawn",
  [ProposalStatus.REVOKED]: "An approval was revoked before it was used",
  [ProposalStatus.STALE]: "An approval was not used, since what it rests on has changed",
};

/**
 * What is to be logged of an event; undefined for nearly all: nothing is logged per command. No text of a caller is in it: neither
 * payloads nor failures nor reasons that people gave.
 */
export function noteOf(body: EventBody, run: Run, runNumber: number): Note | undefined {
  switch (body.case) {
    case "leaseEnded": {
      const message = troubles[body.value.reason];
      return message === undefined
        ? undefined
        : { level: "warn", message, fields: fieldsOf(run, runNumber, { task: body.value.task }) };
    }
    case "operationDoubted": {
      const fields = fieldsOf(run, runNumber, { operation: body.value.operation });
      return { level: "warn", message: "Nobody knows how a call of a sink ended", fields };
    }
    case "reviewOpened": {
      const { review, subject, operation, task } = body.value;
      const parts = subject === ReviewSubject.OPERATION ? { operation } : { task };
      const fields = fieldsOf(run, runNumber, subject === ReviewSubject.RUN ? {} : parts);
      const message = "A person must decide: see pawl reviews list";
      return {
        level: "warn",
        message,
        fields: { ...fields, reviewId: reviewIdOf(run, runNumber, review) },
      };
    }
    case "proposalMade": {
      const fields = proposalFields(run, runNumber, body.value.proposal);
      return { level: "info", message: "An action waits for approval: see pawl inbox", fields };
    }
    case "proposalDecided": {
      const { proposal, verdict, principal } = body.value;
      const fields = { ...proposalFields(run, runNumber, proposal), principal };
      const message =
        verdict === ProposalVerdict.REJECT ? "A proposal was rejected" : "A proposal was approved";
      return { level: "info", message, fields };
    }
    case "proposalEnded": {
      const { proposal, status, principal } = body.value;
      const message = proposalEnds[status];
      const by = principal === "" ? {} : { principal };
      const fields = { ...proposalFields(run, runNumber, proposal), ...by };
      return message === undefined ? undefined : { level: "info", message, fields };
    }
    case "reviewResolved": {
      const reviewId = reviewIdOf(run, runNumber, body.value.review);
      const fields = { ...fieldsOf(run, runNumber, {}), reviewId };
      return { level: "info", message: "A review was resolved", fields };
    }
    case "runFaulted":
      return {
        level: "error",
        message: "The kernel failed on a run and has set it aside",
        fields: { ...fieldsOf(run, runNumber, {}), where: body.value.command },
      };
    case "runClosed": {
      const message = ends[body.value.status];
      return message === undefined
        ? undefined
        : { level: "info", message, fields: fieldsOf(run, runNumber, {}) };
    }
    default:
      return undefined;
  }
}

/** As the API names it. */
function reviewIdOf({ incarnation }: Run, runNumber: number, review: number): string {
  return `${runNumber}-${review}${incarnation === 1 ? "" : `-${incarnation}`}`;
}

/** The names of a proposal: its id as the API has it, its task, and the operation that it would authorise. */
function proposalFields(run: Run, runNumber: number, number: number): LogFields {
  const proposalId = `${runNumber}-p${number}`;
  const declaration = run.proposals[number]?.declaration;
  if (declaration === undefined) {
    return { ...fieldsOf(run, runNumber, {}), proposalId };
  }
  // In scope NAMESPACE there is no task.
  const part = run.kind === "run" ? { task: declaration.task } : {};
  return { ...fieldsOf(run, runNumber, part), operationKey: declaration.key, proposalId };
}

/** Writes the notes of a commit. */
export function writeNotes(log: Log, notes: readonly Note[]): void {
  for (const { level, fields, message } of notes.slice(0, linesMax)) {
    log[level](fields, message);
  }
  if (notes.length > linesMax) {
    log.warn({ count: notes.length - linesMax }, "More of the same commit is not listed");
  }
}

/** The trace id within a W3C traceparent; empty when it is none. */
function traceIdOf(traceparent: string): string {
  return /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(traceparent)?.[1] ?? "";
}

/** The names of a run, and of one part of it. */
export function fieldsOf(
  run: Run,
  runNumber: number,
  part: { readonly task?: number; readonly operation?: number } = {},
): LogFields {
  const operation = part.operation === undefined ? undefined : run.operations[part.operation];
  const task = run.tasks[part.task ?? operation?.task ?? -1];
  const traceId = traceIdOf(run.traceparent);
  const isRun = run.kind === "run";
  return {
    namespace: run.namespace,
    ...(isRun ? { run: run.runId, incarnation: run.incarnation, workflow: run.workflow } : {}),
    runNumber,
    ...(task === undefined ? {} : describeTask(run, task)),
    ...(operation === undefined ? {} : { operationKey: operation.declaration.key }),
    ...(traceId === "" ? {} : { traceId }),
  };
}

function describeTask(run: Run, task: Run["tasks"][number]): LogFields {
  const { attempt, leaseVersion, worker } = task;
  const name = nameOfTask(run, task.number);
  return { task: name, attempt, leaseVersion, ...(worker === "" ? {} : { worker }) };
}

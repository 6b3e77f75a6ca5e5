import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { nextDeadlineMs, runDeadlineMs } from "../../core/deadline.js";
import { specOf } from "../../core/plan/change-spec.js";
import { queuedKind } from "../../core/plan/code-version.js";
import { nextExpiryMs } from "../../core/proposals.js";
import type { Input, Proposal, Run } from "../../core/state.js";
import { isRunOpen } from "../../core/transitions.js";
import { leaseKey, owedKey, readyKey, timerKey } from "../../log/key.js";
import { type AsOf, writeLeaseRow } from "./index-rows.js";
import type { KeyMaker } from "./key-maker.js";

/** Names of the fields by which runs and their parts are listed. */
export const listField: {
  readonly status: string;
  readonly workflow: string;
  readonly operationStatus: string;
  readonly review: string;
  readonly proposal: string;
  readonly proposalFrom: string;
  readonly input: string;
  readonly inputAddressee: string;
} = {
  status: "status",
  workflow: "workflow",
  operationStatus: "operation-status",
  review: "review",
  proposal: "proposal",
  proposalFrom: "proposal-from",
  input: "input",
  inputAddressee: "input-addressee",
};

/** Value of the fields `review` and `input` for one that nobody has resolved or answered. */
export const openReviewValue: string = "open";

/** Priorities count up from 0; keys sort the highest first. */
const priorityMax = 9;

const noValue = new Uint8Array(0);

/** Takes the index rows of a run, one by one. `stamp` changes whenever the value under the key does. */
export interface IndexSink {
  entry(key: Uint8Array, value: () => Uint8Array, stamp: number): void;
}

/** What the index rows of a run are made from. */
export interface Indexed {
  readonly partition: number;
  readonly keys: KeyMaker;
  readonly runNumber: number;
  readonly run: Run;
  readonly asOf: AsOf;
}

/** Tells a sink every index row that stands for the state as it is: how it is listed, and what is open in it. */
export function indexRun(indexed: Indexed, sink: IndexSink): void {
  const { run, runNumber, partition } = indexed;
  if (run.deletion !== undefined) {
    return; // It is listed nowhere.
  }
  let dueMs = nextExpiryMs(run) ?? Number.POSITIVE_INFINITY;
  if (run.kind === "run") {
    dueMs = Math.min(dueMs, indexWhole(indexed, sink));
  }
  if (dueMs !== Number.POSITIVE_INFINITY) {
    const timer = { partition, dueMs: Math.max(0, Math.floor(dueMs)), runNumber };
    sink.entry(timerKey.encode(timer), empty, 0);
  }
  indexParts(indexed, sink);
}

/** How a run as a whole is listed. The answer is when its first deadline is. */
function indexWhole(indexed: Indexed, sink: IndexSink): number {
  const { run, runNumber, keys } = indexed;
  const { namespace } = run;
  // A paused run stands among the open ones as well: a run that pauses and goes on while a list of all is read would else be passed over.
  const listed = run.status === RunStatus.PAUSED ? RunStatus.RUNNING : run.status;
  const status = { namespace, field: listField.status, value: `${listed}` };
  sink.entry(keys.visibility(status, runNumber, 0), empty, 0);
  if (run.status === RunStatus.PAUSED) {
    const paused = { namespace, field: listField.status, value: `${run.status}` };
    sink.entry(keys.visibility(paused, runNumber, 0), empty, 0);
  }
  const workflow = { namespace, field: listField.workflow, value: run.workflow };
  sink.entry(keys.visibility(workflow, runNumber, 0), empty, 0);
  return isRunOpen(run.status) ? indexTasks(indexed, sink) : Number.POSITIVE_INFINITY;
}

/** How its parts are listed. */
function indexParts(indexed: Indexed, sink: IndexSink): void {
  const { run, runNumber, keys } = indexed;
  const { namespace } = run;
  for (const proposal of run.proposals) {
    indexProposal(indexed, proposal, sink);
  }
  indexInputs(indexed, sink);
  indexOwed(indexed, sink);
  for (const number of run.unsettled) {
    const value = `${run.operations[number]?.status ?? 0}`;
    const listed = { namespace, field: listField.operationStatus, value };
    sink.entry(keys.visibility(listed, runNumber, number), empty, 0);
  }
  for (const review of run.reviews) {
    if (review.resolvedAtMs === 0) {
      const listed = { namespace, field: listField.review, value: openReviewValue };
      sink.entry(keys.visibility(listed, runNumber, review.number), empty, 0);
    }
  }
}

/** What is owed to others: a start sends it again. */
function indexOwed({ run, partition, runNumber }: Indexed, sink: IndexSink): void {
  for (const number of run.openObligations) {
    sink.entry(owedKey.encode({ partition, runNumber, number }), empty, 0);
  }
}

/** How open input requests are listed: all of them, and by addressee. */
function indexInputs({ run, runNumber, keys }: Indexed, sink: IndexSink): void {
  const { namespace } = run;
  for (const input of run.inputs) {
    if (input.status === InputStatus.OPEN) {
      const listed = { namespace, field: listField.input, value: openReviewValue };
      sink.entry(keys.visibility(listed, runNumber, input.number), empty, 0);
      const value = addresseeOf(run, input);
      const addressed = { namespace, field: listField.inputAddressee, value };
      sink.entry(keys.visibility(addressed, runNumber, input.number), empty, 0);
    }
  }
}

/** Who should answer an input request. */
export function addresseeOf(run: Run, { wait }: Pick<Input, "wait">): string {
  const subject = run.waits[wait]?.declaration.subject;
  return subject?.case === "input" ? subject.value.addressee : "";
}

/** A proposal is listed by its state, and by its state for each of those who may decide about it. */
function indexProposal(
  { run, runNumber, keys }: Indexed,
  { number, status, declaration }: Proposal,
  sink: IndexSink,
): void {
  const { namespace } = run;
  const listed = { namespace, field: listField.proposal, value: `${status}` };
  sink.entry(keys.visibility(listed, runNumber, number), empty, 0);
  for (const name of new Set(declaration.from)) {
    const value = proposalFromValue(status, name);
    const addressed = { namespace, field: listField.proposalFrom, value };
    sink.entry(keys.visibility(addressed, runNumber, number), empty, 0);
  }
}

/** Value of the field by which proposals are listed for those who may decide about them. */
export function proposalFromValue(status: number, addressee: string): string {
  return `${status} ${addressee}`;
}

/** The answer is when the first deadline of the run or of a task of it is. */
function indexTasks(indexed: Indexed, sink: IndexSink): number {
  const { run, partition, runNumber } = indexed;
  let earliestMs = runDeadlineMs(run) ?? Number.POSITIVE_INFINITY;
  for (const task of run.tasks) {
    const spec = specOf(run, task.number);
    if (spec === undefined) {
      continue;
    }
    earliestMs = Math.min(earliestMs, nextDeadlineMs(run, task, spec) ?? Number.POSITIVE_INFINITY);
    if (task.status === TaskStatus.READY) {
      if (run.status === RunStatus.PAUSED) {
        continue; // Nothing of it is offered, also after a restart.
      }
      const key = readyKey.encode({
        partition,
        namespace: run.namespace,
        queue: readyQueueField(spec.queue, queuedKind(run, spec)),
        priority: priorityMax - spec.priority,
        sequence: task.readyAtMs,
        runNumber,
        number: task.number,
      });
      sink.entry(key, empty, 0);
    } else if (task.status === TaskStatus.LEASED) {
      const key = indexed.keys.inRun(leaseKey.kind, runNumber, task.number);
      const { leaseVersion, sessionId, worker } = task;
      const lease = { leaseVersion, leaseMs: spec.leaseMs, sessionId, worker };
      sink.entry(key, () => writeLeaseRow(key, lease, indexed.asOf), leaseVersion);
    }
  }
  return earliestMs;
}

/** The queue of a ready row. Kinds share queues, so it names both; names of queues hold no NUL, so it is injective. */
export function readyQueueField(queue: string, kind: string): string {
  return `${queue}\0${kind}`;
}

/** The two names that a ready row's queue was made from. */
export function splitReadyQueueField(field: string): {
  readonly queue: string;
  readonly kind: string;
} {
  const at = field.indexOf("\0");
  return { queue: field.slice(0, at), kind: field.slice(at + 1) };
}

/** The priority that a ready row's key was made from. */
export function priorityOf(keyPriority: number): number {
  return priorityMax - keyPriority;
}

function empty(): Uint8Array {
  return noValue;
}

import {
  type InputRowShape,
  type ObligationRowShape,
  type OperationRowShape,
  type PlanVersionRowShape,
  type ProposalRowShape,
  type ReviewRowShape,
  type RunRowShape,
  readInputRow,
  readObligationRow,
  readOperationRow,
  readPlanVersionRow,
  readProposalRow,
  readReviewRow,
  readRunRow,
  readSignalRow,
  readStepRow,
  readTaskRow,
  readWaitRow,
  type SignalRowShape,
  type StepRowShape,
  type TaskRowShape,
  type WaitRowShape,
} from "@pawl/proto/log/v1/row_wire.js";
import { WireReader } from "@pawl/proto/wire/reader.js";
import { hasRow } from "../../core/rows/run-to-rows.js";
import type {
  Obligation,
  Operation,
  Proposal,
  Review,
  Run,
  Signal,
  Wait,
} from "../../core/state.js";
import { toHex } from "../../log/bytes.js";
import { CHUNK_ORIGIN, type ChunkPoint } from "../../log/chunk.js";
import {
  inputRequestKey,
  obligationKey,
  operationKey,
  planVersionKey,
  proposalKey,
  reviewKey,
  signalKey,
  stepKey,
  taskKey,
  waitKey,
} from "../../log/key.js";
import { readRow } from "../../log/row.js";
import type { RowPut } from "../../log/store.js";
import { StoreDamaged } from "../../log/store-errors.js";
import type { StoredParts } from "../resident.js";

/** Version of the rows of runs and of their parts. */
export const rowSchema: number = 0;

/** A run row as it is stored. */
export interface StoredRunRow {
  readonly row: RunRowShape;
  /** Bytes of its value. */
  readonly bytes: number;
}

/** Reads a run's own row. @throws StoreDamaged naming the key. */
export function readStoredRunRow(key: Uint8Array, value: Uint8Array): StoredRunRow {
  const { payload } = readRow(key, value);
  return { row: readRunRow(new WireReader(payload), payload.length), bytes: value.length };
}

/** Where the history of a stored run goes on. A run's chunks hold exactly the events that its row counts, unless it could not be applied. */
export function chunkPointOfRow(row: RunRowShape, nextEventNumber: number): ChunkPoint {
  return row.chunkCount === 0
    ? CHUNK_ORIGIN
    : { nextChunkNumber: row.chunkCount, nextEventNumber, hash: row.chunkHash };
}

/** Parts of a run that lie in rows of their own. */
export interface PartRows {
  readonly tasks: TaskRowShape[];
  readonly operations: OperationRowShape[];
  readonly steps: StepRowShape[];
  readonly reviews: ReviewRowShape[];
  readonly waits: WaitRowShape[];
  readonly proposals: ProposalRowShape[];
  readonly signals: SignalRowShape[];
  readonly inputs: InputRowShape[];
  readonly obligations: ObligationRowShape[];
  readonly planVersions: PlanVersionRowShape[];
}

/** No parts. */
export function emptyParts(): PartRows {
  return {
    tasks: [],
    operations: [],
    steps: [],
    reviews: [],
    waits: [],
    proposals: [],
    signals: [],
    inputs: [],
    obligations: [],
    planVersions: [],
  };
}

/** Kinds of keys under which parts of a run lie. */
export const partKinds: readonly number[] = [
  taskKey.kind,
  operationKey.kind,
  stepKey.kind,
  reviewKey.kind,
  waitKey.kind,
  proposalKey.kind,
  signalKey.kind,
  inputRequestKey.kind,
  obligationKey.kind,
  planVersionKey.kind,
];

/**
 * Reads one part into its list.
 * @throws StoreDamaged naming the key, also for a part that knows more events than its run.
 */
export function addPart(parts: PartRows, { key, value }: RowPut, runEvent: number): void {
  const { payload, asOfEvent } = readRow(key, value);
  if (asOfEvent > runEvent) {
    throw new StoreDamaged(
      `Expected a part of a run as of event ${runEvent} at most, but it is as of event ${asOfEvent}`,
      { key: toHex(key) },
    );
  }
  const reader = new WireReader(payload);
  switch (key[0]) {
    case taskKey.kind:
      parts.tasks.push(readTaskRow(reader, payload.length));
      return;
    case operationKey.kind:
      parts.operations.push(readOperationRow(reader, payload.length));
      return;
    case stepKey.kind:
      parts.steps.push(readStepRow(reader, payload.length));
      return;
    case waitKey.kind:
      parts.waits.push(readWaitRow(reader, payload.length));
      return;
    case proposalKey.kind:
      parts.proposals.push(readProposalRow(reader, payload.length));
      return;
    case signalKey.kind:
      parts.signals.push(readSignalRow(reader, payload.length));
      return;
    case inputRequestKey.kind:
      parts.inputs.push(readInputRow(reader, payload.length));
      return;
    case obligationKey.kind:
      parts.obligations.push(readObligationRow(reader, payload.length));
      return;
    case planVersionKey.kind:
      parts.planVersions.push(readPlanVersionRow(reader, payload.length));
      return;
    default:
      parts.reviews.push(readReviewRow(reader, payload.length));
  }
}

/** Versions of the parts of a state, as a checkpoint compares them. */
export function partVersions(run: Run): StoredParts {
  return {
    tasks: run.tasks.map((task) => (hasRow(task) ? task.version : 0)),
    operations: run.operations.map(operationStamp),
    reviews: run.reviews.map(reviewStamp),
    waits: run.waits.map(waitStamp),
    proposals: run.proposals.map(proposalStamp),
    signals: run.signals.map(signalStamp),
    inputs: run.inputs.map(({ version }) => version),
    obligations: run.obligations.map(obligationStamp),
    steps: run.steps.length,
    planVersions: run.revisions?.versions.length ?? 0,
  };
}

/** A number that changes with the row of an operation: its open review may go without a new version. */
export function operationStamp(operation: Operation): number {
  return operation.version * 2 + (operation.openReview === undefined ? 0 : 1);
}

/** Decisions that may be kept about one proposal, twice, and one more. */
const proposalStampBound = 512;

/** A number that changes with the row of a proposal: an approval that is counted, and a revision of one that had ended, give it no new version. */
export function proposalStamp(proposal: Proposal): number {
  const revised = proposal.revisedBy === undefined ? 0 : 1;
  return proposal.version * proposalStampBound + proposal.decisions.length * 2 + revised;
}

/** Tasks that may wait for one review, and one more. */
const waitingTasksBound = 65_536;

/** A number that changes with the row of a review: tasks that begin to wait for it give it no new version. */
export function reviewStamp(review: Review): number {
  return review.version * waitingTasksBound + review.waitingTasks.length;
}

/** A number that changes with the row of a wait: it is written when it opens, and when it is over. */
export function waitStamp(wait: Wait): number {
  return wait.closedAtMs === 0 ? 1 : 2;
}

/** A number that changes with the row of a signal: it is written when it comes, when a wait takes it, and, for an update, when it is answered. */
export function signalStamp({ takenBy, answer }: Signal): number {
  return (takenBy === undefined ? 1 : 2) + (answer === undefined ? 0 : 2);
}

/**
 * A number that changes with the row of an obligation: it is written when it is made, when it is answered, when the child that it started has
 * ended, and when its run begins once more.
 */
export function obligationStamp({ settledEvent, endedEvent, earlier }: Obligation): number {
  return 1 + (settledEvent === 0 ? 0 : 1) + (earlier ? 2 : 0) + (endedEvent === 0 ? 0 : 4);
}

import {
  type RunRowShape,
  writeInputRow,
  writeObligationRow,
  writeOperationRow,
  writePlanVersionRow,
  writeProposalRow,
  writeReviewRow,
  writeRunRow,
  writeSignalRow,
  writeStepRow,
  writeTaskRow,
  writeWaitRow,
} from "@pawl/proto/log/v1/row_wire.js";
import { WireWriter } from "@pawl/proto/wire/writer.js";
import {
  type ChunkMark,
  inlineRun,
  rowOfInput,
  rowOfObligation,
  rowOfOperation,
  rowOfPlanVersion,
  rowOfProposal,
  rowOfReview,
  rowOfSignal,
  rowOfStep,
  rowOfTask,
  rowOfWait,
  splitRunRow,
} from "../../core/rows/run-to-rows.js";
import type { Run } from "../../core/state.js";
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
import { writeRow } from "../../log/row.js";
import type { StoredParts } from "../resident.js";
import type { AsOf } from "./index-rows.js";
import type { KeyMaker } from "./key-maker.js";
import {
  obligationStamp,
  operationStamp,
  partVersions,
  proposalStamp,
  reviewStamp,
  rowSchema,
  signalStamp,
  waitStamp,
} from "./run-rows.js";

/** A run that fits in this many bytes keeps all in its run row. */
const inlineBytesMax = 4096;
/** With more parts than this it is not even tried. */
const inlinePartsMax = 64;

/** Where rows go. */
export type PutRow = (key: Uint8Array, value: Uint8Array) => void;

/** What the rows of a run are written from. */
export interface RowsOfRun {
  readonly runNumber: number;
  readonly run: Run;
  readonly asOf: AsOf;
  readonly chunk: ChunkMark;
  /** Versions of the parts in rows of their own; undefined when there are none. */
  readonly stored: StoredParts | undefined;
}

/** What was written. */
export interface WrittenRows {
  readonly parts: StoredParts | undefined;
  readonly bytes: number;
}

const allParts: StoredParts = {
  tasks: [],
  operations: [],
  reviews: [],
  waits: [],
  proposals: [],
  signals: [],
  inputs: [],
  obligations: [],
  steps: 0,
  planVersions: 0,
};

/** Encodes the rows of runs into one kept buffer. */
export class RowWriter {
  readonly #keys: KeyMaker;
  readonly #writer = new WireWriter(16 * 1024);

  constructor(keys: KeyMaker) {
    this.#keys = keys;
  }

  /** Writes a small run as one row. What is larger, or was before, is split: then only the parts that changed. */
  writeRun(rows: RowsOfRun, put: PutRow): WrittenRows {
    if (rows.stored === undefined && partCount(rows.run) <= inlinePartsMax) {
      const bytes = this.#writeInline(rows, put);
      if (bytes !== undefined) {
        return { parts: undefined, bytes };
      }
    }
    let bytes = this.writeRow(rows, splitRunRow(rows.run, rows.chunk), put);
    this.#writeParts(rows, rows.stored ?? allParts, (key, value) => {
      bytes += value.length;
      put(key, value);
    });
    return { parts: partVersions(rows.run), bytes };
  }

  /** Writes a run's own row as given; the answer is its bytes. */
  writeRow(rows: Pick<RowsOfRun, "runNumber" | "asOf">, row: RunRowShape, put: PutRow): number {
    this.#writer.reset();
    writeRunRow(this.#writer, row);
    return this.#put(this.#keys.run(rows.runNumber), rows.asOf, put);
  }

  #writeInline(rows: RowsOfRun, put: PutRow): number | undefined {
    const writer = this.#writer;
    writer.reset();
    writeRunRow(writer, inlineRun(rows.run, rows.chunk));
    return writer.pos > inlineBytesMax
      ? undefined
      : this.#put(this.#keys.run(rows.runNumber), rows.asOf, put);
  }

  #writeParts(rows: RowsOfRun, stored: StoredParts, put: PutRow): void {
    const { run, runNumber, asOf } = rows;
    const keys = this.#keys;
    for (const task of run.tasks) {
      if (task.version !== (stored.tasks[task.number] ?? 0)) {
        this.#writer.reset();
        writeTaskRow(this.#writer, rowOfTask(run, task));
        this.#put(keys.inRun(taskKey.kind, runNumber, task.number), asOf, put);
      }
    }
    for (const operation of run.operations) {
      if (operationStamp(operation) !== stored.operations[operation.number]) {
        this.#writer.reset();
        writeOperationRow(this.#writer, rowOfOperation(operation));
        this.#put(keys.inRun(operationKey.kind, runNumber, operation.number), asOf, put);
      }
    }
    for (const review of run.reviews) {
      if (reviewStamp(review) !== stored.reviews[review.number]) {
        this.#writer.reset();
        writeReviewRow(this.#writer, rowOfReview(review));
        this.#put(keys.inRun(reviewKey.kind, runNumber, review.number), asOf, put);
      }
    }
    for (const wait of run.waits) {
      if (waitStamp(wait) !== stored.waits[wait.number]) {
        this.#writer.reset();
        writeWaitRow(this.#writer, rowOfWait(wait));
        this.#put(keys.inRun(waitKey.kind, runNumber, wait.number), asOf, put);
      }
    }
    this.#writeProposals(rows, stored, put);
    this.#writeMessages(rows, stored, put);
    this.#writeUnchanging(rows, stored, put);
  }

  /** What never changes is written once. */
  #writeUnchanging({ run, runNumber, asOf }: RowsOfRun, stored: StoredParts, put: PutRow): void {
    const keys = this.#keys;
    for (const step of run.steps.slice(stored.steps)) {
      this.#writer.reset();
      writeStepRow(this.#writer, rowOfStep(step));
      this.#put(keys.inRun(stepKey.kind, runNumber, step.number), asOf, put);
    }
    for (const version of run.revisions?.versions.slice(stored.planVersions) ?? []) {
      const row = rowOfPlanVersion(version);
      this.#writer.reset();
      writePlanVersionRow(this.#writer, row);
      this.#put(keys.inRun(planVersionKey.kind, runNumber, row.number), asOf, put);
    }
  }

  #writeProposals({ run, runNumber, asOf }: RowsOfRun, stored: StoredParts, put: PutRow): void {
    const keys = this.#keys;
    for (const proposal of run.proposals) {
      if (proposalStamp(proposal) !== stored.proposals[proposal.number]) {
        this.#writer.reset();
        writeProposalRow(this.#writer, rowOfProposal(proposal));
        this.#put(keys.inRun(proposalKey.kind, runNumber, proposal.number), asOf, put);
      }
    }
  }

  #writeMessages(
    { run, runNumber, asOf }: Pick<RowsOfRun, "run" | "runNumber" | "asOf">,
    stored: StoredParts,
    put: PutRow,
  ): void {
    const keys = this.#keys;
    for (const signal of run.signals) {
      if (signalStamp(signal) !== stored.signals[signal.number]) {
        this.#writer.reset();
        writeSignalRow(this.#writer, rowOfSignal(signal));
        this.#put(keys.inRun(signalKey.kind, runNumber, signal.number), asOf, put);
      }
    }
    for (const input of run.inputs) {
      if (input.version !== stored.inputs[input.number]) {
        this.#writer.reset();
        writeInputRow(this.#writer, rowOfInput(input));
        this.#put(keys.inRun(inputRequestKey.kind, runNumber, input.number), asOf, put);
      }
    }
    for (const obligation of run.obligations) {
      if (obligationStamp(obligation) !== stored.obligations[obligation.number]) {
        this.#writer.reset();
        writeObligationRow(this.#writer, rowOfObligation(obligation));
        this.#put(keys.inRun(obligationKey.kind, runNumber, obligation.number), asOf, put);
      }
    }
  }

  #put(key: Uint8Array, asOf: AsOf, put: PutRow): number {
    const value = writeRow(key, {
      schemaVersion: rowSchema,
      asOfEvent: asOf.event,
      asOfSequence: asOf.sequence,
      payload: this.#writer.view(),
    });
    put(key, value);
    return value.length;
  }
}

function partCount(run: Run): number {
  const { tasks, operations, steps, reviews, waits, proposals, signals, inputs, obligations } = run;
  const own = tasks.length + operations.length + steps.length + reviews.length;
  return (
    own + waits.length + proposals.length + signals.length + inputs.length + obligations.length
  );
}

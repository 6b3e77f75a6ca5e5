import { PawlError, StepFailed } from "../errors.js";
import type { StepToRecord } from "./attempt-port.js";
import type { AttemptState } from "./attempt-state.js";

/** A failure which is not recorded: of a step without a retry of its own, or of an operation whose call never left. */
export interface UnsaidFailure {
  readonly step: StepToRecord;
  /** `seen_through` when the code was given it. */
  readonly seenThrough: number;
  readonly failed: Error;
  /** What its name is given back with. */
  readonly taken: string;
}

/** What was thrown in steps whose failure is not recorded. */
const originals = new WeakMap<Error, unknown>();

/** What an attempt that ends with this is said to have failed with: of a step whose failure nobody recorded, the error that was thrown in it. */
export function unrecorded(thrown: unknown): unknown {
  return thrown instanceof StepFailed && originals.has(thrown) ? originals.get(thrown) : thrown;
}

/**
 * Failures of steps that the code was given and that are not recorded: as long as nothing else leaves, nobody outside can have seen what came of them, and the next
 * attempt may make the step again.
 */
export class UnsaidFailures {
  readonly #kept = new Map<string, UnsaidFailure>();

  get isEmpty(): boolean {
    return this.#kept.size === 0;
  }

  /** Keeps one. */
  add(identity: string, unsaid: UnsaidFailure, thrown: unknown): void {
    this.#kept.set(identity, unsaid);
    originals.set(unsaid.failed, thrown);
  }

  /** The code makes the step again: its failure is no more. Undefined when there is none. */
  forget(identity: string): UnsaidFailure | undefined {
    const unsaid = this.#kept.get(identity);
    this.#kept.delete(identity);
    return unsaid;
  }

  /** All, in the order in which the code was given them; they are recorded from here on. */
  take(): UnsaidFailure[] {
    const unsaid = [...this.#kept.values()];
    this.#kept.clear();
    for (const { failed } of unsaid) originals.delete(failed);
    return unsaid;
  }
}

/** What is wrong with the code itself, and stays so: no record is about it. */
const MISUSES: ReadonlySet<string> = new Set([
  "PAWL_CALL_INSIDE_STEP",
  "PAWL_CONTEXT_CLOSED",
  "PAWL_VALUE_REFUSED",
]);

/** True for what no record can be about: that the attempt is over, or that the code is wrong. */
export function isNoOutcome(thrown: unknown, { reason, poison }: AttemptState): boolean {
  return (
    reason !== undefined ||
    (poison !== undefined && thrown === poison) ||
    (thrown instanceof PawlError && MISUSES.has(thrown.code))
  );
}

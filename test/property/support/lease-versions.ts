import { expect } from "vitest";
import type { Recorded } from "../../core/support/machine.js";

type Body = Recorded["body"];
type Report = Extract<
  Body,
  {
    case:
      | "taskCompleted"
      | "attemptFailed"
      | "taskCancelled"
      | "leaseEnded"
      | "taskSuspended"
      | "stepRecorded";
  }
>;

const reportCases: ReadonlySet<string> = new Set([
  "taskCompleted",
  "attemptFailed",
  "taskCancelled",
  "leaseEnded",
  "taskSuspended",
  "stepRecorded",
]);

function isReport(body: Body): body is Report {
  return reportCases.has(body.case);
}

/** Hears that lease versions rise by one, across incarnations above all of the ones before, and that reports are of the last lease. */
export class LeaseVersions {
  readonly #last = new Map<number, number>();
  #base = 0;
  #isRevised = false;

  hear(body: Body): void {
    if (body.case === "runContinued") {
      expect(body.value.leaseVersion).toBe(this.#last.get(body.value.task));
    }
    if (body.case === "runRestarted" || body.case === "runContinued") {
      this.#base = Math.max(this.#base, ...this.#last.values());
      this.#last.clear();
      this.#isRevised = false;
    } else if (body.case === "planRevised") {
      this.#isRevised = true;
    } else if (body.case === "taskLeased") {
      const { task, leaseVersion } = body.value;
      const last = this.#last.get(task);
      if (last === undefined && this.#isRevised) {
        expect(leaseVersion).toBeGreaterThan(this.#base); // Above all that were before its revision.
      } else {
        expect(leaseVersion).toBe((last ?? this.#base) + 1);
      }
      this.#last.set(task, leaseVersion);
    } else if (isReport(body)) {
      expect(body.value.leaseVersion).toBe(this.#last.get(body.value.task));
    }
  }
}

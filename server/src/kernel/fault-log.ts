import type { Decision } from "../core/decision.js";
import { reject } from "../core/decision.js";
import type { Resident } from "./resident.js";

/** One fault of the kernel's own code. */
export interface Fault {
  readonly runNumber: number;
  readonly command: string;
  readonly error: unknown;
}

/** Faults kept at most; the oldest go first. */
const faultsMax = 100;

/** What went wrong in decide or apply, for the operator's log, and the refusal that callers of such a run get. */
export class FaultLog {
  readonly #faults: Fault[] = [];
  /** Called with each fault as it happens. */
  onFault: (fault: Fault) => void = () => {};

  get faults(): readonly Fault[] {
    return this.#faults;
  }

  /** Keeps a fault; the answer is its text for the run's history. */
  record(runNumber: number, command: string, error: unknown): string {
    const fault: Fault = { runNumber, command, error };
    this.#faults.push(fault);
    if (this.#faults.length > faultsMax) {
      this.#faults.shift();
    }
    this.onFault(fault);
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  }

  /** Refuses a command on a run that is set aside. */
  refuse(resident: Resident): Decision {
    return reject({
      reason: "PAWL_INTERNAL",
      message:
        `Expected run "${resident.run.runId}" to be served, but the kernel failed on it (${resident.run.fault}) and set it aside. ` +
        "Next: resolve its review, or terminate it; other runs are not affected.",
    });
  }
}

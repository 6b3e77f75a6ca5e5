import type { Command } from "../core/command.js";
import type { Rejection } from "../core/rejection.js";
import type { FaultLog } from "./fault-log.js";
import { damaged, type ReplyTo, type Target, unavailable } from "./outcome.js";
import { ParkedCommands, parkedWait, parkingOf } from "./parked-commands.js";
import type { Found, Residency } from "./residency.js";
import type { Resident } from "./resident.js";

/** What aggregates are found with. */
export interface FinderParts {
  readonly residency: Residency;
  readonly faults: FaultLog;
  /** Gives a refusal that leaves with this turn. */
  readonly answer: (to: ReplyTo, rejection: Rejection) => void;
  /** Gives a refusal at once: nothing will be durable any more. */
  readonly refuse: (to: ReplyTo, rejection: Rejection) => void;
  /** Ends the kernel. */
  readonly fail: (error: unknown) => void;
}

/** Something that goes on when its aggregate has been read. */
interface Waiting {
  readonly target: Target;
  readonly to: ReplyTo;
  readonly again: () => void;
  readonly command: Command | undefined;
}

/** Finds the aggregates that commands and waits name, and has those wait whose aggregate is being read. */
export class Finder {
  readonly #parts: FinderParts;
  readonly #parked = new ParkedCommands();

  constructor(parts: FinderParts) {
    this.#parts = parts;
  }

  /** Bytes of commands that wait for their runs to be read. */
  get parkedBytes(): number {
    return this.#parked.bytes;
  }

  /** Finds an aggregate: in memory, absent, or a promise after which to ask again. */
  find(target: Target): Found {
    const { residency } = this.#parts;
    switch (target.kind) {
      case "number":
        return target.namespace === undefined
          ? residency.find(target.number)
          : residency.findIn(target.namespace, target.number);
      case "run":
        return residency.findRun(target.namespace, target.runId);
      case "ledger":
        return residency.findLedger(target.namespace, target.operationKey);
    }
  }

  /**
   * Finds an aggregate for a receiver. `later`: it is being read and `again` will be called, or the receiver was told why not. Damage
   * refuses this aggregate by name; a store that fails ends the kernel.
   * @param command what waits; default: a wait for the end of the run.
   */
  findOrRefuse(
    target: Target,
    to: ReplyTo,
    again: () => void,
    command?: Command,
  ): Resident | undefined | "later" {
    try {
      const found = this.find(target);
      if (!(found instanceof Promise)) {
        return found;
      }
      this.#park(found, { target, to, again, command });
    } catch (error) {
      this.#refuseUnreadable(to, error);
    }
    return "later";
  }

  #park(reading: Promise<void>, { target, to, again, command }: Waiting): void {
    const parking = command === undefined ? parkedWait : parkingOf(target, command);
    const refusal = this.#parked.add(parking);
    if (refusal !== undefined) {
      this.#parts.answer(to, refusal);
      return;
    }
    reading.then(
      () => {
        this.#parked.remove(parking);
        again();
      },
      (error: unknown) => {
        this.#parked.remove(parking);
        this.#refuseUnreadable(to, error);
      },
    );
  }

  #refuseUnreadable(to: ReplyTo, error: unknown): void {
    const rejection = damaged(error);
    if (rejection === undefined) {
      this.#parts.fail(error);
      const failure = error instanceof Error ? error : new Error(String(error));
      this.#parts.refuse(to, unavailable(failure));
      return;
    }
    this.#parts.faults.record(0, "read", error);
    this.#parts.answer(to, rejection);
  }
}

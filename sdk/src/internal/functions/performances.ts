import type { OperationRequest } from "@pawl/proto/v1/operation_pb.js";
import type { PerformOptions } from "../../context.js";
import type { Operation } from "../../operation.js";
import type { Ledger } from "../perform.js";
import { quiet } from "../quiet.js";
import type { Steps } from "../steps.js";
import { FunctionLedger } from "./function-ledger.js";
import { HeldBack } from "./held-back.js";
import type { OrderKey } from "./order-key.js";
import type { Place } from "./place.js";
import { scopedName } from "./scopes.js";

/** What the operations of a function need of it. */
export interface PerformancesParts {
  /** Runs something of the function's own, which is given in its turn. */
  readonly own: <T>(
    run: (place: Place) => Promise<T>,
    recorded: OrderKey | undefined,
  ) => Promise<T>;
  /** The place of a step that was recorded earlier. */
  readonly recordedStep: (name: string, key: string | undefined) => OrderKey | undefined;
  readonly steps: () => Steps;
  readonly ledgerOf: (scope: PerformOptions["scope"]) => Ledger;
  /** Resolves when what was said about rollbacks is on its way. */
  readonly declared: () => Promise<void>;
  readonly isUndoing: () => boolean;
  /** Waits for the resolution of a review, while the function does what else it has to do. */
  readonly awaitReview: (reviewId: string) => Promise<void>;
  /** Told of what ended without an outcome that stays. */
  readonly doubted: (error: unknown) => void;
}

/** One performance as the code asked for it. */
export interface PerformanceCall<Result> {
  readonly operation: Operation;
  readonly options: Pick<PerformOptions, "scope" | "key">;
  readonly makeRequest: () => Promise<OperationRequest>;
  /** Performs it by this ledger. */
  readonly perform: (make: () => Promise<OperationRequest>, ledger: Ledger) => Promise<Result>;
}

/** The operations of a function: what each comes to is given in its turn, and recorded where its operation cannot say it itself. */
export class Performances {
  readonly #parts: PerformancesParts;
  /** Names of the steps that would say when the code was given an outcome, of all that it was given: performed again, it is not given for the first time. */
  readonly #given = new Set<string>();

  constructor(parts: PerformancesParts) {
    this.#parts = parts;
  }

  perform<Result>(call: PerformanceCall<Result>): Promise<Result> {
    const { operation, options, makeRequest, perform } = call;
    const { own, recordedStep, declared, isUndoing, doubted } = this.#parts;
    const { scope = "task", key } = options ?? {}; // Absent options are refused by name below.
    const name = scopedName(`$order/${scope}`, operation.name);
    const recorded = recordedStep(name, key);
    return own(async (place) => {
      place.hold();
      const ledger = this.#ledgerAt(place, scope);
      const make = async (): Promise<OperationRequest> => {
        const made = quiet(makeRequest()); // Of what the code gives now, whatever it makes of it afterwards.
        await declared();
        return await made;
      };
      try {
        return await perform(make, ledger);
      } catch (error) {
        if (!ledger.isSettled && !(error instanceof HeldBack)) doubted(error);
        throw error;
      } finally {
        const isNeeded = ledger.isSettled && place.isLate && !isUndoing();
        const isGiven = recorded !== undefined || ledger.isSettled;
        const isFirst = isGiven && this.#isFirst(name, key);
        if (isFirst && (recorded !== undefined || isNeeded)) {
          await this.#recordPlace(place, name, key);
        }
      }
    }, recorded);
  }

  #ledgerAt(place: Place, scope: PerformOptions["scope"]): FunctionLedger {
    const { ledgerOf, isUndoing, awaitReview } = this.#parts;
    return new FunctionLedger(() => ledgerOf(scope), {
      place,
      scope,
      awaitReview: isUndoing() ? undefined : awaitReview,
    });
  }

  #isFirst(name: string, key: string | undefined): boolean {
    const identity = JSON.stringify([name, key ?? null]);
    if (this.#given.has(identity)) return false;
    this.#given.add(identity);
    return true;
  }

  /** What its operation cannot say itself: when the code was given the outcome. */
  async #recordPlace(place: Place, name: string, key: string | undefined): Promise<void> {
    const options = key === undefined ? {} : { key };
    const onRecord = (): void => place.record();
    await this.#parts.steps().make({ name, options, run: () => true, isRead: false, onRecord });
  }
}

import type { Failure } from "@pawl/proto/v1/failure_pb.js";
import type { OperationRequest } from "@pawl/proto/v1/operation_pb.js";
import { NotSent } from "../../call-errors.js";
import type { PerformOptions } from "../../context.js";
import type { Operation } from "../../operation.js";
import { fromFailure } from "../failure.js";
import type { Ledger } from "../perform.js";
import { quiet } from "../quiet.js";
import type { Steps } from "../steps.js";
import { FunctionLedger } from "./function-ledger.js";
import { HeldBack } from "./held-back.js";
import type { OrderKey } from "./order-key.js";
import type { Place } from "./place.js";
import { bounded, scopedName } from "./scopes.js";

/** What the operations of a function need of it. */
export interface PerformancesParts {
  /** Runs something of the function's own, which is given in its turn. */
  readonly own: <T>(
    run: (place: Place) => T | Promise<T>,
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

/** A performance under way. */
interface Performing {
  readonly ledger: FunctionLedger;
  readonly place: Place;
}

/** The step that says when the code was given an outcome. */
interface OrderStep {
  readonly name: string;
  readonly key: string | undefined;
  /** Its place, when it was recorded earlier. */
  readonly recorded: OrderKey | undefined;
}

/** The step that says that nothing was sent. */
interface UnsentStep {
  readonly name: string;
  readonly key: string;
}

/** The operations of a function: what each comes to is given in its turn, and recorded where its operation cannot say it itself. */
export class Performances {
  readonly #parts: PerformancesParts;
  /** Names of the steps that would say when the code was given an outcome, of all that it was given: performed again, it is not given for the first time. */
  readonly #given = new Set<string>();
  /** How often each operation was performed. */
  readonly #times = new Map<string, number>();

  constructor(parts: PerformancesParts) {
    this.#parts = parts;
  }

  perform<Result>(call: PerformanceCall<Result>): Promise<Result> {
    const { operation, options, makeRequest, perform } = call;
    const { own, recordedStep, steps, declared } = this.#parts;
    const { scope = "task", key } = options ?? {}; // Absent options are refused by name below.
    const unsent = this.#unsentStep(operation, { scope, key });
    const failure = steps().find(unsent.name, unsent.key)?.failure;
    if (failure !== undefined) return this.#throwAgain(unsent, failure);
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
        this.#failed(error, { ledger, place, unsent });
        throw error;
      } finally {
        await this.#ended({ name, key, recorded }, { ledger, place });
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

  #failed(
    error: unknown,
    { ledger, place, unsent }: Performing & { readonly unsent: UnsentStep },
  ): void {
    const { doubted, isUndoing, steps } = this.#parts;
    if (!ledger.isSettled && !(error instanceof HeldBack)) doubted(error);
    if (error instanceof NotSent && !isUndoing()) {
      place.recordWhenGiven(() => steps().keep(unsent, error));
    }
  }

  async #ended(order: OrderStep, { ledger, place }: Performing): Promise<void> {
    const { name, key, recorded } = order;
    const isNeeded = ledger.isSettled && place.isLate && !this.#parts.isUndoing();
    const isGiven = recorded !== undefined || ledger.isSettled;
    const isFirst = isGiven && this.#isFirst(name, key);
    if (isFirst && (recorded !== undefined || isNeeded)) {
      await this.#recordPlace(place, name, key);
    }
  }

  /** The step that says that the code was told that this performance sent nothing. Code may perform again what was not sent, so each performance has its own. */
  #unsentStep(
    { name }: Operation,
    { scope, key }: { readonly scope: string; readonly key: string | undefined },
  ): UnsentStep {
    const step = scopedName(`$unsent/${scope}`, name);
    const identity = JSON.stringify([step, key ?? null]);
    const times = (this.#times.get(identity) ?? 0) + 1;
    this.#times.set(identity, times);
    return { name: step, key: bounded(`${key ?? ""}~${times}`) };
  }

  /** The code went another way then, and does again. */
  #throwAgain<Result>({ name, key }: UnsentStep, failure: Failure): Promise<Result> {
    const { own, steps, recordedStep } = this.#parts;
    const { message, cause } = fromFailure(failure);
    return own<Result>(
      () => {
        steps().pass(name, key);
        throw new NotSent(message, { cause });
      },
      recordedStep(name, key),
    );
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

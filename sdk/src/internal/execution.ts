import type { Offer } from "@pawl/proto/v1/worker_service_pb.js";
import type { Suspension } from "./waits.js";

/** How the code of an attempt came to rest: it returned, waits, or has begun the next incarnation of its run. When it throws, the promise rejects. */
export type Rest = { readonly returned: unknown } | { readonly continued: true } | Suspension;

/**
 * The code of an attempt, from its first line to its end. When it waits, its task is given back; code that is kept in memory meanwhile goes on
 * under the next lease, where it stands.
 */
export class Execution {
  #rest: (rest: Rest) => void = () => undefined;
  #fail: (error: unknown) => void = () => undefined;
  #isSuspended = false;
  #hasEnded = false;

  /** Runs the code until it returns, throws or waits. */
  begin(offer: Pick<Offer, "task" | "runId">, run: () => unknown): Promise<Rest> {
    return new Promise((resolve, reject) => {
      this.#rest = resolve;
      this.#fail = reject;
      Promise.resolve(run()).then(
        (returned) => {
          this.#ended(offer);
          this.#rest({ returned });
        },
        (error: unknown) => {
          this.#ended(offer);
          this.#fail(error);
        },
      );
    });
  }

  /** The code waits, and has nothing else to do. */
  suspend(suspension: Suspension): void {
    this.#isSuspended = true;
    this.#rest(suspension);
  }

  /** The run goes on as another incarnation: the code is dropped where it stands. */
  continued(): void {
    this.#rest({ continued: true });
  }

  /**
   * Lets code that waits go on, until it returns, throws or waits again.
   *
   * @param wake Gives it what it waited for.
   */
  resume(wake: () => void): Promise<Rest> {
    return new Promise((resolve, reject) => {
      this.#rest = resolve;
      this.#fail = reject;
      this.#isSuspended = false;
      wake();
    });
  }

  /** True while its task is with nobody. */
  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  /** True when it ended although its task was given back: there is nothing to go on with. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Code that ends after its task was given back did something of its own meanwhile; what it told nobody hears. */
  #ended({ task, runId }: Pick<Offer, "task" | "runId">): void {
    this.#hasEnded = true;
    if (!this.#isSuspended) return;
    process.emitWarning(
      `The handler of task "${task}" of run "${runId}" went on after it was suspended: it did work of its own beside what it waited for, and that work is done again. Put it into ctx.step.`,
      { type: "PawlWarning", code: "PAWL_SUSPENDED_AT_WORK" },
    );
  }
}

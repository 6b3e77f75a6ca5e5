import type { Run } from "../core/state.js";
import { isRunOpen } from "../core/transitions.js";
import { type Outcome, type Receiver, RejectionError, type Target } from "../kernel/outcome.js";
import type { Edge } from "./edge.js";

/** A wait for the end of one run. */
export interface EndWait<T> {
  readonly target: Target;
  /** How long to wait, in ms; 0: only look. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** What is waited for, instead of the end. Absent: the end. */
  readonly isThere?: (run: Run) => boolean;
  /** Computes the answer from the run as it ended, or is when what is waited for is there. */
  readonly project: (run: Run) => T;
}

/**
 * The answer once the run has ended, or what is waited for is there, and that is durable; undefined when the wait was over first.
 *
 * @throws RejectionError (as a rejection) when there is no such run; the signal's reason when it aborts.
 */
export async function awaitEnd<T>(edge: Edge, wait: EndWait<T>): Promise<T | undefined> {
  const { target, waitMs, project, isThere = hasEnded } = wait;
  // What has ended already is told whatever the wait.
  const now = await edge.kernel.view(target, (run) =>
    isThere(run) ? { answer: project(run) } : undefined,
  );
  if (now !== undefined || waitMs === 0) {
    return now?.answer;
  }
  return await new Promise<T | undefined>((resolve, reject) => {
    new EndReceiver(edge, wait, resolve, reject).begin();
  });
}

function hasEnded(run: Run): boolean {
  return !isRunOpen(run.status);
}

class EndReceiver<T> implements Receiver {
  readonly #edge: Edge;
  readonly #wait: EndWait<T>;
  readonly #resolve: (answer: T | undefined) => void;
  readonly #reject: (error: unknown) => void;
  #stops: (() => void)[] = [];
  #settle: (() => void) | undefined;
  #isSealed = false;

  constructor(
    edge: Edge,
    wait: EndWait<T>,
    resolve: (answer: T | undefined) => void,
    reject: (error: unknown) => void,
  ) {
    this.#edge = edge;
    this.#wait = wait;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(): void {
    const { signal, target, waitMs } = this.#wait;
    const onAbort = (): void => this.#finish(() => this.#reject(signal.reason));
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener("abort", onAbort, { once: true });
    const timer = this.#edge.timers.after(waitMs, () =>
      this.#finish(() => this.#resolve(undefined)),
    );
    this.#stops = [() => signal.removeEventListener("abort", onAbort), () => timer.cancel()];
    const { isThere } = this.#wait;
    const { kernel } = this.#edge;
    const to = { receiver: this, tag: 0 };
    const waiting =
      isThere === undefined ? kernel.awaitRun(target, to) : kernel.awaitThere(target, isThere, to);
    this.#stops.push(() => waiting.cancel());
  }

  outcome(_tag: number, outcome: Outcome): void {
    if (outcome.accepted) {
      const answer = this.#wait.project(outcome.run);
      this.#settle = () => this.#resolve(answer);
    } else {
      const { rejection } = outcome;
      this.#settle = () => this.#reject(new RejectionError(rejection));
    }
  }

  prepare(): void {
    this.#isSealed = this.#settle !== undefined;
  }

  release(): void {
    if (this.#isSealed && this.#settle !== undefined) {
      this.#finish(this.#settle);
    }
  }

  fault(error: unknown): void {
    this.#finish(() => this.#reject(error));
  }

  #finish(settle: () => void): void {
    for (const stop of this.#stops.splice(0)) {
      stop();
    }
    settle();
  }
}

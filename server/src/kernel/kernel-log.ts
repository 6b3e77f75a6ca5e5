import type { Run } from "../core/state.js";
import { describeError, type Log } from "../observe/log.js";
import type { Fault } from "./fault-log.js";
import { fieldsOf, writeNotes } from "./notes.js";
import type { Clock } from "./ports.js";
import type { Turn } from "./turn.js";

/** A gap of kernel time that is told, in ms. */
const toldForwardMs = 3_600_000;

/** What a kernel has to tell whoever runs it, as lines of the log. */
export class KernelLog {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #beganMs: number;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
    this.#beganMs = clock.monotonicMs();
  }

  /** The store is read; `ready` resolves once all that is open is known. */
  opened(
    store: { readonly storeId: string; readonly epoch: number; readonly sequence: number },
    ready: Promise<void>,
  ): void {
    this.#log.info({ ...store, ms: this.#passedMs }, "The store is open");
    ready.then(
      () => this.#log.info({ ms: this.#passedMs }, "All that is open is known"),
      () => {
        // What failed has failed the store, which is told of by itself.
      },
    );
  }

  /** Kernel time begins, so long after the last recorded event: a downtime, or a clock that is ahead. Nobody can tell them apart but people. */
  timeBegins(nowMs: number, lastRecordedMs: number): void {
    const forwardMs = lastRecordedMs === 0 ? 0 : nowMs - lastRecordedMs;
    if (forwardMs >= toldForwardMs) {
      this.#log.warn({ ms: forwardMs }, "Kernel time moved forward");
    }
  }

  /** A turn is durable. */
  durable({ notes }: Turn): void {
    if (notes !== undefined) {
      writeNotes(this.#log, notes);
    }
  }

  /** The first error of the store. */
  failed(error: Error): void {
    const fields = { error: describeError(error) };
    this.#log.error(fields, "The store failed: nothing more is acknowledged");
  }

  /**
   * A fault of the kernel's own code.
   *
   * @param run The run on which it happened, when it is in memory.
   */
  fault({ runNumber, command, error }: Fault, run?: Run): void {
    const names = run === undefined ? { runNumber } : fieldsOf(run, runNumber);
    const fields = { ...names, where: command, error: describeError(error) };
    this.#log.error(fields, "A fault of the kernel was contained");
  }

  get #passedMs(): number {
    return Math.round(this.#clock.monotonicMs() - this.#beganMs);
  }
}

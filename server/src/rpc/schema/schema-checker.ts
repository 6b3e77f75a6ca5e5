import { Worker } from "node:worker_threads";
import { CallerGone } from "../call-scope.js";
import { FairQueue } from "./fair-queue.js";
import type { SchemaJob, SchemaReply, SchemaWorkerMessage } from "./schema-worker.js";

/** Bounds of a schema checker. */
export interface SchemaCheckerBounds {
  /** One check may take this long, in ms; a pattern that backtracks without end is cut off then. Default 1,000. */
  readonly checkMs: number;
  /** The thread must be ready after this long, in ms; no check pays for it. Default 10,000. */
  readonly startMs: number;
  /** A check that has waited for longer than this, in ms, is not begun any more. Default 10,000. */
  readonly waitMs: number;
  /** Checks of one namespace that may wait. Default 1,000: all the suspensions that one message holds. */
  readonly ofNamespaceMax: number;
  /** Checks of all namespaces that may wait. Default 4,000. */
  readonly waitingMax: number;
}

const defaultBounds: SchemaCheckerBounds = {
  checkMs: 1_000,
  startMs: 10_000,
  waitMs: 10_000,
  ofNamespaceMax: 1_000,
  waitingMax: 4_000,
};

/** For whom a check is made. */
export interface SchemaAsker {
  /** Namespaces take turns. */
  readonly namespace: string;
  /** True when nobody waits for the reply any more. */
  readonly isGone: () => boolean;
}

/** What came of a check: a reply; or none yet, for a reason that is not in what was to be checked, so that it may be asked again. */
export type SchemaFinding = SchemaReply | { readonly case: "unchecked"; readonly bound: string };

/** The checker is closed, or its thread died through no fault of the schema. */
export class SchemaCheckerError extends Error {
  override readonly name: string = "SchemaCheckerError";
}

interface Waiting {
  readonly job: SchemaJob;
  readonly asker: SchemaAsker;
  readonly sinceMs: number;
  readonly resolve: (finding: SchemaFinding) => void;
  readonly reject: (error: SchemaCheckerError | CallerGone) => void;
}

/**
 * Checks JSON Schemas, and documents with them, in a thread of its own: the code that a schema becomes never runs in the kernel's loop, and one
 * that takes too long ends with its thread, not with the kernel. One check at a time, namespaces in turn. The thread starts with the first check,
 * keeps the process alive only while one is under way, and ends with `close`.
 */
export class SchemaChecker {
  readonly #bounds: SchemaCheckerBounds;
  readonly #waiting: FairQueue<Waiting> = new FairQueue();
  #current: Waiting | undefined;
  #worker: Worker | undefined;
  #isReady = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(bounds: Partial<SchemaCheckerBounds> = {}) {
    this.#bounds = { ...defaultBounds, ...bounds };
  }

  /**
   * Checks a schema, and a document with it if there is one.
   *
   * @throws SchemaCheckerError, or CallerGone when nobody waited any more (both as a rejection).
   */
  check(job: SchemaJob, asker: SchemaAsker): Promise<SchemaFinding> {
    const { ofNamespaceMax, waitingMax } = this.#bounds;
    return new Promise((resolve, reject) => {
      if (this.#isClosed) {
        reject(closedError());
      } else if (this.#waiting.sizeOf(asker.namespace) >= ofNamespaceMax) {
        resolve({ case: "unchecked", bound: `${ofNamespaceMax} waiting checks of a namespace` });
      } else if (this.#waiting.size >= waitingMax) {
        resolve({ case: "unchecked", bound: `${waitingMax} waiting checks` });
      } else {
        this.#waiting.push(asker.namespace, {
          ...{ job, asker, resolve, reject },
          sinceMs: performance.now(),
        });
        this.#next();
      }
    });
  }

  /** Ends the thread; checks under way are rejected. May be called again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#current?.reject(closedError());
    for (let one = this.#waiting.shift(); one !== undefined; one = this.#waiting.shift()) {
      one.reject(closedError());
    }
    await this.#drop();
  }

  #next(): void {
    if (this.#current !== undefined) {
      return;
    }
    this.#current = this.#takeWanted();
    if (this.#current === undefined) {
      this.#worker?.unref();
      return;
    }
    const worker = this.#open();
    worker.ref();
    worker.postMessage(this.#current.job);
    this.#armTimer();
  }

  /** The next check that somebody still waits for. */
  #takeWanted(): Waiting | undefined {
    const { waitMs } = this.#bounds;
    for (let one = this.#waiting.shift(); one !== undefined; one = this.#waiting.shift()) {
      if (one.asker.isGone()) {
        one.reject(new CallerGone());
      } else if (performance.now() - one.sinceMs > waitMs) {
        one.resolve({ case: "unchecked", bound: `${waitMs} ms of waiting` });
      } else {
        return one;
      }
    }
    return undefined;
  }

  #armTimer(): void {
    const { checkMs, startMs } = this.#bounds;
    this.#timer = setTimeout(() => void this.#tooLong(), this.#isReady ? checkMs : startMs);
  }

  #open(): Worker {
    if (this.#worker !== undefined) {
      return this.#worker;
    }
    // Beside the compiled file lies a compiled worker, beside the source its source (tests run from the sources).
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const worker = new Worker(new URL(`./schema-worker.${extension}`, import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: 128 },
    });
    worker.on("message", (message: SchemaWorkerMessage) => this.#receive(worker, message));
    worker.on("error", () => this.#died(worker));
    worker.on("exit", () => this.#died(worker));
    this.#worker = worker;
    return worker;
  }

  #receive(worker: Worker, message: SchemaWorkerMessage): void {
    if (this.#worker !== worker) return;
    clearTimeout(this.#timer);
    if (message.case === "ready") {
      this.#isReady = true;
      this.#armTimer();
      return;
    }
    this.#settle(message);
  }

  async #tooLong(): Promise<void> {
    const isStarting = !this.#isReady;
    const { checkMs, startMs } = this.#bounds;
    // A new thread is not to be at work beside this one, which may need a processor to end.
    await this.#drop();
    if (isStarting) {
      this.#settle({ case: "unchecked", bound: `${startMs} ms to start the checker` });
    } else if (this.#current?.job.document === undefined) {
      // The machine may have been busy; what is wrong with a schema would have been said.
      this.#settle({ case: "unchecked", bound: `${checkMs} ms for a check` });
    } else {
      const why = `checking took longer than ${checkMs} ms`;
      this.#settle({ case: "badDocument", why });
    }
  }

  /** Its memory ran out, most likely. */
  #died(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#isReady = false;
    clearTimeout(this.#timer);
    const isDocument = this.#current?.job.document !== undefined;
    const why = "checking it took too much memory";
    this.#settle({ case: isDocument ? "badDocument" : "badSchema", why });
  }

  #settle(finding: SchemaFinding): void {
    const current = this.#current;
    this.#current = undefined;
    current?.resolve(finding);
    this.#next();
  }

  async #drop(): Promise<void> {
    clearTimeout(this.#timer);
    const worker = this.#worker;
    this.#worker = undefined;
    this.#isReady = false;
    await worker?.terminate();
  }
}

function closedError(): SchemaCheckerError {
  return new SchemaCheckerError(
    "Expected an open schema checker, but it is closed with its kernel; open the kernel again.",
  );
}

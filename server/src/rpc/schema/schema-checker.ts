import { Worker } from "node:worker_threads";
import type { SchemaJob, SchemaReply } from "./schema-worker.js";

/** One check may take this long, in ms; a pattern that backtracks without end is cut off then. */
const checkMsMax = 1_000;

/** Starting the thread is not counted against the check. */
const startMsMax = 10_000;

/** The checker is closed, or its thread died through no fault of the schema. */
export class SchemaCheckerError extends Error {
  override readonly name: string = "SchemaCheckerError";
}

interface Waiting {
  readonly job: SchemaJob;
  readonly resolve: (reply: SchemaReply) => void;
  readonly reject: (error: SchemaCheckerError) => void;
}

/**
 * Checks JSON Schemas, and documents with them, in a thread of its own: the code that a schema becomes never runs in the kernel's loop, and one
 * that takes too long ends with its thread, not with the kernel. One check at a time. The thread starts with the first check, keeps the
 * process alive only while one is under way, and ends with `close`.
 */
export class SchemaChecker {
  readonly #waiting: Waiting[] = [];
  readonly #checkMsMax: number;
  #current: Waiting | undefined;
  #worker: Worker | undefined;
  #isWarm = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param checkMs how long one check may take. Default 1 s. */
  constructor(checkMs: number = checkMsMax) {
    this.#checkMsMax = checkMs;
  }

  /** Checks a schema, and a document with it if there is one. @throws SchemaCheckerError (as a rejection) */
  check(job: SchemaJob): Promise<SchemaReply> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) {
        reject(closedError());
        return;
      }
      this.#waiting.push({ job, resolve, reject });
      this.#next();
    });
  }

  /** Ends the thread; checks under way are rejected. May be called again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const open = [
      ...(this.#current === undefined ? [] : [this.#current]),
      ...this.#waiting.splice(0),
    ];
    for (const { reject } of open) reject(closedError());
    await this.#drop();
  }

  #next(): void {
    if (this.#current !== undefined) {
      return;
    }
    this.#current = this.#waiting.shift();
    if (this.#current === undefined) {
      this.#worker?.unref();
      return;
    }
    const worker = this.#open();
    worker.ref();
    worker.postMessage(this.#current.job);
    const limitMs = this.#isWarm ? this.#checkMsMax : this.#checkMsMax + startMsMax;
    this.#timer = setTimeout(() => void this.#tooLong(), limitMs);
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
    worker.on("message", (reply: SchemaReply) => {
      this.#isWarm = true;
      this.#settle(worker, reply);
    });
    worker.on("error", () => this.#died(worker));
    worker.on("exit", () => this.#died(worker));
    this.#worker = worker;
    return worker;
  }

  #settle(worker: Worker, reply: SchemaReply): void {
    if (this.#worker !== worker) return;
    clearTimeout(this.#timer);
    const current = this.#current;
    this.#current = undefined;
    current?.resolve(reply);
    this.#next();
  }

  async #tooLong(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    await this.#drop();
    const why = `checking took longer than ${this.#checkMsMax} ms`;
    const isDocument = current?.job.document !== undefined;
    current?.resolve({ case: isDocument ? "badDocument" : "badSchema", why });
    this.#next();
  }

  /** Its memory ran out, most likely. */
  #died(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#isWarm = false;
    clearTimeout(this.#timer);
    const current = this.#current;
    this.#current = undefined;
    const isDocument = current?.job.document !== undefined;
    const why = "checking it took too much memory";
    current?.resolve({ case: isDocument ? "badDocument" : "badSchema", why });
    this.#next();
  }

  async #drop(): Promise<void> {
    clearTimeout(this.#timer);
    const worker = this.#worker;
    this.#worker = undefined;
    this.#isWarm = false;
    await worker?.terminate();
  }
}

function closedError(): SchemaCheckerError {
  return new SchemaCheckerError(
    "Expected an open schema checker, but it is closed with its kernel; open the kernel again.",
  );
}

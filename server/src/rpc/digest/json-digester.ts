import { Worker } from "node:worker_threads";
import { computeJsonDigest, type JsonDigest } from "./json-digest.js";
import type { JsonDigestJob, JsonDigestReply } from "./json-digest-worker.js";

/** Longest document whose `json` digest is computed on the calling thread, in bytes. */
export const JSON_DIGEST_INLINE_BYTES_MAX: number = 64 * 1024;

/** Code of a `JsonDigesterError`. */
export type JsonDigesterErrorCode = "PAWL_DIGESTER_CLOSED" | "PAWL_DIGEST_WORKER_FAILED";

/** A digest could not be computed, through no fault of the document. */
export class JsonDigesterError extends Error {
  override readonly name: string = "JsonDigesterError";
  /** Stable; `PAWL_DIGEST_WORKER_FAILED` may be tried again, a closed digester stays closed. */
  readonly code: JsonDigesterErrorCode;

  constructor(code: JsonDigesterErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

interface PendingJob {
  readonly resolve: (result: JsonDigest) => void;
  readonly reject: (error: JsonDigesterError) => void;
}

/**
 * Computes `json` digests for the edge: short documents at once, longer ones in one worker thread, so that no document
 * holds up the loop. The thread starts with the first long document, keeps the process alive only while a digest is
 * under way, and ends with `close`. What is under way is bounded by whoever admits requests, not here.
 */
export class JsonDigester {
  readonly #pending: Map<number, PendingJob> = new Map();
  #worker: Worker | undefined;
  #nextJob = 1;
  #closed = false;

  /**
   * The `json` digest of a document, or why it has none. The bytes are copied before the call returns.
   *
   * @throws JsonDigesterError (as a rejection) when the digester is closed or its thread died.
   */
  async digestJson(data: Uint8Array): Promise<JsonDigest> {
    if (this.#closed) throw closedError();
    if (data.length <= JSON_DIGEST_INLINE_BYTES_MAX) return computeJsonDigest(data);
    return this.#digestInWorker(data);
  }

  /** Ends the thread; digests under way are rejected with `PAWL_DIGESTER_CLOSED`. May be called again. */
  async close(): Promise<void> {
    this.#closed = true;
    const worker = this.#worker;
    this.#abandon(closedError());
    await worker?.terminate();
  }

  #digestInWorker(data: Uint8Array): Promise<JsonDigest> {
    return new Promise((resolve, reject) => {
      const worker = this.#openWorker();
      const job = this.#nextJob++;
      this.#pending.set(job, { resolve, reject });
      worker.ref();
      // A copy of exactly these bytes: transferring or cloning a view would take its whole (perhaps shared) buffer along.
      const copy = new Uint8Array(data);
      const message: JsonDigestJob = { job, data: copy };
      worker.postMessage(message, [copy.buffer]);
    });
  }

  #openWorker(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    // Beside the compiled file lies a compiled worker, beside the source its source (tests run from the sources).
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const worker = new Worker(new URL(`./json-digest-worker.${extension}`, import.meta.url));
    worker.on("message", (reply: JsonDigestReply) => this.#settle(worker, reply));
    worker.on("error", (cause) => this.#fail(worker, cause));
    worker.on("exit", (status) => this.#fail(worker, new Error(`exit status ${status}`)));
    this.#worker = worker;
    return worker;
  }

  #settle(worker: Worker, reply: JsonDigestReply): void {
    this.#pending.get(reply.job)?.resolve(reply.result);
    this.#pending.delete(reply.job);
    if (this.#pending.size === 0) worker.unref();
  }

  #fail(worker: Worker, cause: unknown): void {
    // A thread that was replaced or closed has nothing pending any more.
    if (this.#worker !== worker) return;
    const message = "Expected the digest thread to answer, but it ended; send the request again.";
    this.#abandon(new JsonDigesterError("PAWL_DIGEST_WORKER_FAILED", message, { cause }));
  }

  #abandon(error: JsonDigesterError): void {
    this.#worker = undefined;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(error);
  }
}

function closedError(): JsonDigesterError {
  const message =
    "Expected an open digester, but it is closed with its kernel; open the kernel again.";
  return new JsonDigesterError("PAWL_DIGESTER_CLOSED", message);
}

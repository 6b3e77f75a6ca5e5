import { create } from "@bufbuild/protobuf";
import type { Rejection } from "@pawl/proto/v1/rejection_pb.js";
import type { RunResult } from "@pawl/proto/v1/run_pb.js";
import {
  type AwaitedResult,
  type AwaitRun,
  AwaitRunSchema,
  type StartRun,
  type StartRunResult,
  type SubmitRequest,
  SubmitRequestSchema,
  type SubmitResponse,
  type SubmitSignal,
  type SubmitSignalResult,
} from "@pawl/proto/v1/run_service_pb.js";
import type { PawlClient } from "../client.js";
import { AccessDenied, Closed, type PawlError } from "../errors.js";
import type { SignalAnswer } from "../messages.js";
import { Backoff } from "./backoff.js";
import { makeController } from "./controller.js";
import { Correlations } from "./correlation.js";
import { type Deferred, defer } from "./deferred.js";
import type { ConnectionMonitor } from "./monitor.js";
import { Outflow } from "./outflow.js";
import { errorFromRejection, isTransient } from "./rejection.js";
import { SendQueue, type Sized } from "./send-queue.js";
import { monotonicMs, startTimer, wait } from "./time.js";
import { readCallFailure } from "./transport-error.js";

/** What a start was answered. */
export interface StartAnswer {
  readonly existing: boolean;
  readonly incarnation: number;
}

/** Something that waits for answers: a start, a start with its result, a signal, or a result. */
interface Pending extends Sized {
  readonly correlation: number;
  readonly runId: string;
  /** The start while it is not answered. */
  start: StartRun | undefined;
  readonly started: Deferred<StartAnswer> | undefined;
  readonly signal: SentSignal | undefined;
  readonly result: Deferred<RunResult> | undefined;
  readonly backoff: Backoff;
}

/** A signal, and who waits for its answer. */
interface SentSignal {
  readonly item: SubmitSignal;
  readonly answered: Deferred<SignalAnswer>;
  /** Beyond this time it is not sent again. */
  readonly giveUpAtMs: number;
}

/** How a stream ended that did not end well. */
interface Failure {
  readonly cause: unknown;
  /** True when the kernel had answered on it. */
  readonly wasAnswered: boolean;
}

/** What a submit stream needs. */
export interface SubmitOptions {
  readonly api: PawlClient;
  readonly namespace: string;
  readonly monitor: ConnectionMonitor;
}

/** A signal is given up after so many ms of a kernel that is away, as every call is that is made by itself. */
const SIGNAL_PATIENCE_MS = 30_000;

/** Room that an item takes besides its content, in bytes. */
const ITEM_BYTES = 64;

/**
 * All starts, signals and waits of a client, on one stream that is opened with the first of them and opened again whenever it is
 * lost: what is not answered is then sent once more, with the same run id, which is a start's identity, or the same request id.
 */
export class SubmitStream {
  readonly #options: SubmitOptions;
  readonly #pending = new Map<number, Pending>();
  readonly #waits = new Map<string, Pending>();
  readonly #queue = new SendQueue<Pending>();
  readonly #correlations = new Correlations();
  readonly #closing: AbortController = makeController();
  #outflow: Outflow<SubmitRequest> | undefined;
  #loop: Promise<void> | undefined;
  /** True when the last stream was refused for its token. */
  #wasDenied = false;

  constructor(options: SubmitOptions) {
    this.#options = options;
  }

  /** Number of starts that are not answered. */
  get openStarts(): number {
    let count = 0;
    for (const pending of this.#pending.values()) {
      if (pending.start !== undefined) count++;
    }
    return count;
  }

  /**
   * Starts a run.
   *
   * @param start Its correlation number is set here. With `wait`, the result is awaited too.
   */
  start(
    start: StartRun,
    bytes: number,
  ): { started: Promise<StartAnswer>; result: Promise<RunResult> | undefined } {
    const pending = this.#add({
      runId: start.runId,
      start,
      bytes: bytes + ITEM_BYTES,
      waits: start.wait,
    });
    start.correlation = pending.correlation;
    return {
      started: pending.started?.promise ?? Promise.reject(closed()),
      result: pending.result?.promise,
    };
  }

  /** Sends a signal. @param item Its correlation number is set here. */
  signal(item: SubmitSignal, bytes: number): Promise<SignalAnswer> {
    const { runId } = item;
    const answered = defer<SignalAnswer>();
    const signal = { item, answered, giveUpAtMs: monotonicMs() + SIGNAL_PATIENCE_MS };
    const parts = { runId, start: undefined, waits: false, signal };
    item.correlation = this.#add({ ...parts, bytes: bytes + ITEM_BYTES }).correlation;
    return answered.promise;
  }

  /** Waits for the result of a run; all that wait for the same one share it. */
  awaitRun(runId: string): Promise<RunResult> {
    let pending = this.#waits.get(runId);
    if (pending === undefined) {
      pending = this.#add({
        runId,
        start: undefined,
        bytes: ITEM_BYTES + runId.length,
        waits: true,
      });
      this.#waits.set(runId, pending);
    }
    return pending.result?.promise ?? Promise.reject(closed());
  }

  /** Ends the stream. Whoever waits, or comes later, gets the reason. */
  async close(reason: PawlError): Promise<void> {
    this.#closing.abort(reason);
    this.#rejectAll(reason);
    this.#outflow?.end();
    await this.#loop;
  }

  #add(parts: {
    runId: string;
    start: StartRun | undefined;
    bytes: number;
    waits: boolean;
    signal?: SentSignal;
  }): Pending {
    this.#closing.signal.throwIfAborted();
    const pending: Pending = {
      correlation: this.#correlations.next(this.#pending),
      runId: parts.runId,
      start: parts.start,
      bytes: parts.bytes,
      started: parts.start === undefined ? undefined : defer(),
      signal: parts.signal,
      result: parts.waits ? defer() : undefined,
      backoff: new Backoff({ initialMs: 100, maxMs: 5_000 }),
    };
    this.#pending.set(pending.correlation, pending);
    this.#enqueue(pending);
    this.#loop ??= this.#run();
    return pending;
  }

  #enqueue(pending: Pending): void {
    this.#queue.push(pending);
    this.#outflow?.wake();
  }

  async #run(): Promise<void> {
    const backoff = new Backoff({ initialMs: 50, maxMs: 3_000 });
    const { signal } = this.#closing;
    // Nobody waits: the next start or wait opens the stream again.
    while (!signal.aborted && this.#pending.size > 0) {
      const failure = await this.#serve(backoff);
      if (signal.aborted) break;
      if (failure !== undefined) this.#onDown(failure);
      await wait(backoff.nextMs(), signal).catch(() => undefined);
    }
    this.#loop = undefined;
  }

  /** One stream, to its end. Answers how it ended, when it did not end well. */
  async #serve(backoff: Backoff): Promise<Failure | undefined> {
    const { api, monitor } = this.#options;
    let wasAnswered = false;
    this.#queue.clear();
    for (const pending of this.#pending.values()) this.#queue.push(pending);
    const outflow = new Outflow(() => this.#take());
    this.#outflow = outflow;
    try {
      for await (const response of api.runs.submit(outflow, { signal: this.#closing.signal })) {
        wasAnswered = true;
        this.#wasDenied = false;
        monitor.connected();
        backoff.reset();
        this.#receive(response);
      }
      return undefined;
    } catch (cause) {
      return { cause, wasAnswered };
    } finally {
      outflow.end();
      this.#outflow = undefined;
    }
  }

  #onDown({ cause, wasAnswered }: Failure): void {
    const { api, monitor } = this.#options;
    const failure = readCallFailure(cause, api.url);
    monitor.failed(failure.error);
    // A token that counted may have been rotated meanwhile: what the client sends now is tried once.
    if (failure.error instanceof AccessDenied && (wasAnswered || !this.#wasDenied)) {
      this.#wasDenied = true;
      if (monitor.wasConnected) return;
    }
    // Waiting on helps when a kernel restarts, not when there never was one at this address, nor when it refuses the
    // stream as a whole.
    if (failure.isForeign ? !monitor.wasConnected : !failure.isTransient) {
      this.#rejectAll(failure.error);
    } else {
      this.#giveUp(failure.error);
    }
  }

  /** Signals wait for a kernel that is away, but not for ever. */
  #giveUp(error: PawlError): void {
    const nowMs = monotonicMs();
    for (const pending of [...this.#pending.values()]) {
      if (pending.signal !== undefined && pending.signal.giveUpAtMs <= nowMs) {
        this.#reject(pending, error);
      }
    }
  }

  #take(): SubmitRequest | undefined {
    while (!this.#queue.isEmpty) {
      const starts: StartRun[] = [];
      const signals: SubmitSignal[] = [];
      const waits: AwaitRun[] = [];
      for (const { start, signal, runId, correlation } of this.#queue.take()) {
        if (!this.#pending.has(correlation)) continue;
        if (start !== undefined) {
          starts.push(start);
        } else if (signal !== undefined) {
          signals.push(signal.item);
        } else {
          waits.push(create(AwaitRunSchema, { runId, correlation }));
        }
      }
      if (starts.length + signals.length + waits.length > 0) {
        const { namespace } = this.#options;
        return create(SubmitRequestSchema, { namespace, starts, signals, waits });
      }
    }
    return undefined;
  }

  #receive(response: SubmitResponse): void {
    for (const correlation of response.accepted) {
      const pending = this.#pending.get(correlation);
      if (pending !== undefined) this.#started(pending, { existing: false, incarnation: 1 });
    }
    for (const answer of response.started) {
      const pending = this.#pending.get(answer.correlation);
      if (pending !== undefined) this.#answered(pending, answer);
    }
    for (const answer of response.signals) {
      const pending = this.#pending.get(answer.correlation);
      if (pending !== undefined) this.#signalled(pending, answer);
    }
    for (const answer of response.results) {
      const pending = this.#pending.get(answer.correlation);
      if (pending !== undefined) this.#ended(pending, answer);
    }
  }

  #ended(pending: Pending, { result, rejection }: AwaitedResult): void {
    if (result !== undefined) {
      this.#forget(pending);
      pending.started?.resolve({ existing: true, incarnation: result.incarnation });
      pending.result?.resolve(result);
    } else if (rejection !== undefined) {
      this.#refused(pending, rejection);
    }
  }

  #answered(pending: Pending, answer: StartRunResult): void {
    if (answer.rejection === undefined) {
      this.#started(pending, { existing: answer.existing, incarnation: answer.incarnation });
    } else {
      this.#refused(pending, answer.rejection);
    }
  }

  #signalled(pending: Pending, { existing, version, rejection }: SubmitSignalResult): void {
    if (rejection === undefined) {
      this.#forget(pending);
      pending.signal?.answered.resolve({ existing, version });
    } else {
      this.#refused(pending, rejection);
    }
  }

  #started(pending: Pending, answer: StartAnswer): void {
    pending.start = undefined;
    if (pending.result === undefined) this.#pending.delete(pending.correlation);
    pending.started?.resolve(answer);
  }

  #refused(pending: Pending, rejection: Rejection): void {
    const delayMs = isTransient(rejection) ? pending.backoff.nextMs() : undefined;
    const giveUpAtMs = pending.signal?.giveUpAtMs ?? Number.POSITIVE_INFINITY;
    if (delayMs !== undefined && monotonicMs() + delayMs <= giveUpAtMs) {
      startTimer(delayMs, () => {
        if (this.#pending.has(pending.correlation)) this.#enqueue(pending);
      });
      return;
    }
    this.#reject(pending, errorFromRejection(rejection));
  }

  #reject(pending: Pending, error: PawlError): void {
    this.#forget(pending);
    pending.started?.reject(error);
    pending.signal?.answered.reject(error);
    pending.result?.reject(error);
  }

  #rejectAll(error: PawlError): void {
    for (const pending of [...this.#pending.values()]) this.#reject(pending, error);
  }

  #forget(pending: Pending): void {
    this.#pending.delete(pending.correlation);
    if (this.#waits.get(pending.runId) === pending) this.#waits.delete(pending.runId);
  }
}

function closed(): Closed {
  return new Closed("client");
}

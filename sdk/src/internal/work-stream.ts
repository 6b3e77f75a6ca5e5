import { create } from "@bufbuild/protobuf";
import type {
  EmitItem,
  ProgressItem,
  WorkRequest,
  WorkResponse,
} from "@pawl/proto/v1/worker_service_pb.js";
import { type Hello, WorkRequestSchema } from "@pawl/proto/v1/worker_service_pb.js";
import type { PawlClient } from "../client.js";
import type { PawlError } from "../errors.js";
import { Backoff } from "./backoff.js";
import { makeController } from "./controller.js";
import { Correlations } from "./correlation.js";
import type { Lease } from "./lease.js";
import type { ConnectionMonitor } from "./monitor.js";
import { Outflow } from "./outflow.js";
import { PingConfirms } from "./ping-confirms.js";
import { PING_MS, SilenceWatch } from "./silence-watch.js";
import { wait } from "./time.js";
import { refuseTooLarge } from "./too-large-item.js";
import { readCallFailure } from "./transport-error.js";
import {
  type ItemAnswer,
  type ItemBody,
  lostLeaseAnswer,
  refusedWith,
  type WorkItem,
} from "./work-item.js";
import { WorkOutbox } from "./work-outbox.js";

/** What a work stream asks of the worker that owns it. */
export interface WorkStreamOwner {
  /** What to say first on a new stream. */
  hello(): Hello;
  /** Slots that are free: the credits of a new stream. */
  freeSlots(): number;
  /** A new stream is up. Leases with these handles are not held any more. */
  up(lostHandles: readonly number[]): void;
  /** A message; answers to items were given already. */
  receive(response: WorkResponse): void;
  /** True when no attempt is running. */
  isIdle(): boolean;
  /** The worker was never welcomed and will not be: no kernel is there, or it refuses the Hello. */
  unreachable(error: PawlError): void;
}

/** What a work stream needs. */
export interface WorkStreamOptions {
  readonly api: PawlClient;
  readonly monitor: ConnectionMonitor;
  readonly owner: WorkStreamOwner;
}

/**
 * A worker's stream, opened again whenever it is lost. What is not answered is sent again on the new one, with the same
 * correlation numbers and in the same order, after the kernel said which leases still hold.
 */
export class WorkStream {
  readonly #options: WorkStreamOptions;
  readonly #outbox = new WorkOutbox();
  readonly #unanswered = new Map<number, WorkItem>();
  readonly #correlations = new Correlations();
  readonly #closing: AbortController = makeController();
  #outflow: Outflow<WorkRequest> | undefined;
  #isUp = false;
  #wasWelcomed = false;
  #isKernelLeaving = false;
  #isDraining = false;
  #helloCredits = 0;
  readonly #pings = new PingConfirms();
  readonly #silence = new SilenceWatch(() => this.#ping());
  #loop: Promise<void> | undefined;
  readonly #allAnswered: (() => void)[] = [];

  constructor(options: WorkStreamOptions) {
    this.#options = options;
  }

  /** True while a stream is open on which the kernel has welcomed the worker. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** Opens the first stream. */
  open(): void {
    this.#loop ??= this.#run();
  }

  /** Sends an item; it is settled when the kernel answered it, however many streams that takes. */
  send(
    lease: Lease,
    bytes: number,
    make: (correlation: number) => ItemBody,
    settle: WorkItem["settle"],
  ): void {
    lease.onSend?.();
    const correlation = this.#correlations.next(this.#unanswered);
    const body = make(correlation);
    const rejection = refuseTooLarge(body, bytes);
    if (rejection !== undefined) {
      queueMicrotask(() => settle(refusedWith(rejection)));
      return;
    }
    const item: WorkItem = { correlation, lease, bytes, body, sentAtMs: 0, settle };
    this.#unanswered.set(correlation, item);
    if (this.#isUp) {
      this.#outbox.item(item);
      this.#outflow?.wake();
    }
  }

  /** Changes what waits to be sent, and wakes the sender. What is memory only is not kept for the next stream. */
  post(change: (outbox: WorkOutbox) => void): void {
    if (this.#isUp) {
      change(this.#outbox);
      this.#outflow?.wake();
    }
  }

  /**
   * Resolves when the kernel has read everything that was posted until now: acknowledgements above all, which it does not answer. While no stream
   * is up, when the next one is, whose Hello has named every lease that is held.
   */
  confirm(): Promise<void> {
    return this.#pings.answered(this.#isUp ? this.#ping() : 0);
  }

  #ping(): number {
    const ping = this.#pings.next();
    this.post((outbox) => outbox.ping(ping));
    return ping;
  }

  /** Sends progress, on this stream or the next. */
  progress(lease: Lease, item: ProgressItem): void {
    this.#outbox.progress(lease, item);
    if (this.#isUp) this.#outflow?.wake();
  }

  /** Sends live output, on this stream or the next. */
  emit(lease: Lease, item: EmitItem): void {
    this.#outbox.emit(lease, item);
    if (this.#isUp) this.#outflow?.wake();
  }

  /**
   * Takes no more offers, on this stream or the next. Resolves when everything that was offered before the kernel knew has come, or at once while no
   * stream is up: the next one says so in its first message.
   */
  drain(): Promise<void> {
    this.#isDraining = true;
    this.post((outbox) => outbox.drain());
    return this.#isUp ? this.confirm() : Promise.resolve();
  }

  /** Resolves when everything that was sent is answered. */
  answered(): Promise<void> {
    return this.#unanswered.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.#allAnswered.push(resolve);
        });
  }

  /** Ends the stream for good. */
  async close(): Promise<void> {
    this.#closing.abort(new Error("the worker was closed"));
    this.#outflow?.end();
    this.#silence.stop();
    this.#pings.all();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const backoff = new Backoff({ initialMs: 50, maxMs: 3_000 });
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const failure = await this.#serve(backoff);
      if (signal.aborted) return;
      if (failure !== undefined) this.#onDown(failure);
      await wait(backoff.nextMs(), signal).catch(() => undefined);
    }
  }

  /** One stream, to its end. Answers why it ended, when it did not end well. */
  async #serve(backoff: Backoff): Promise<unknown> {
    const { api, monitor, owner } = this.#options;
    const abort = new AbortController();
    const onClosing = (): void => abort.abort();
    this.#closing.signal.addEventListener("abort", onClosing, { once: true });
    this.#outbox.reset();
    this.#helloCredits = this.#isDraining ? 0 : owner.freeSlots();
    let hello: WorkRequest | undefined = create(WorkRequestSchema, {
      hello: owner.hello(),
      credits: this.#helloCredits,
      drain: this.#isDraining,
    });
    const outflow = new Outflow(() => {
      const message = hello ?? (this.#isUp ? this.#outbox.take() : undefined);
      hello = undefined;
      return message;
    });
    this.#outflow = outflow;
    this.#isKernelLeaving = false;
    this.#silence.start(abort, PING_MS);
    try {
      for await (const response of api.workers.work(outflow, { signal: abort.signal })) {
        this.#silence.heard();
        monitor.connected();
        backoff.reset();
        this.#receive(response, abort);
      }
      return undefined;
    } catch (cause) {
      return cause;
    } finally {
      this.#closing.signal.removeEventListener("abort", onClosing);
      this.#isUp = false;
      this.#silence.stop();
      outflow.end();
      this.#outflow = undefined;
    }
  }

  #onDown(cause: unknown): void {
    const { api, monitor, owner } = this.#options;
    const failure = readCallFailure(cause, api.url);
    monitor.failed(failure.error);
    // A worker that was at work goes on trying, whatever answers meanwhile; one that never was learns that it cannot.
    const isHopeless = failure.isForeign ? !monitor.wasConnected : !failure.isTransient;
    if (isHopeless && !this.#wasWelcomed) {
      owner.unreachable(failure.error);
    }
  }

  #receive(response: WorkResponse, abort: AbortController): void {
    if (response.welcome !== undefined) {
      this.#silence.start(abort, response.welcome.pingIntervalMs || PING_MS);
      this.#welcomed(response.welcome.lostHandles);
    }
    for (const correlation of response.accepted) {
      this.#settle(correlation, {
        existing: false,
        rejection: undefined,
        intent: undefined,
        step: undefined,
      });
    }
    for (const { correlation, existing, rejection, intent, step, obligation } of response.results) {
      this.#settle(correlation, { existing, rejection, intent, step, obligation });
    }
    if (response.ping !== 0) {
      this.post((outbox) => outbox.pong(response.ping));
    }
    if (response.pong !== 0) {
      this.#pings.pong(response.pong);
    }
    this.#options.owner.receive(response);
    this.#isKernelLeaving ||= response.drain;
    this.leaveWhenDone();
  }

  /** A kernel that goes away is let go when it owes nothing and is owed nothing: the next stream finds its successor. */
  leaveWhenDone(): void {
    if (this.#isKernelLeaving && this.#unanswered.size === 0 && this.#options.owner.isIdle()) {
      this.#outflow?.end();
    }
  }

  #welcomed(lostHandles: readonly number[]): void {
    this.#isUp = true;
    this.#wasWelcomed = true;
    if (!this.#isDraining) {
      // What became free between hello and welcome.
      this.#outbox.credits(this.#options.owner.freeSlots() - this.#helloCredits);
    }
    const lost = new Set(lostHandles);
    for (const item of [...this.#unanswered.values()]) {
      const isLost = lost.has(item.lease.handle) || item.lease.isOver;
      if (isLost && item.body.kind !== "observation") {
        this.#settle(item.correlation, lostLeaseAnswer(item.lease));
        continue;
      }
      if (isLost && item.body.kind === "observation") {
        // What a sink did is told also without a lease: the run is named instead.
        item.body.message.handle = 0;
        item.body.message.runId = item.lease.runId;
      }
      this.#outbox.item(item);
    }
    this.#options.owner.up(lostHandles);
    this.#pings.all();
    this.#outflow?.wake();
  }

  #settle(correlation: number, answer: Omit<ItemAnswer, "sentAtMs">): void {
    const item = this.#unanswered.get(correlation);
    if (item === undefined) {
      return;
    }
    this.#unanswered.delete(correlation);
    item.settle({ ...answer, sentAtMs: item.sentAtMs });
    if (this.#unanswered.size === 0) {
      for (const resolve of this.#allAnswered.splice(0)) resolve();
    }
  }
}

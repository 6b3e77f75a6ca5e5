import type { Offer, RenewedLease, WaitOutcome } from "@pawl/proto/v1/worker_service_pb.js";
import { type AttemptEnded, Cancelled, LeaseLost, TimedOut } from "../abort-reasons.js";
import type { ServedTask } from "../task.js";
import { type AttemptEnd, runAttempt } from "./attempt.js";
import { AttemptState } from "./attempt-state.js";
import type { ClientCore } from "./client-core.js";
import type { WarmCopies } from "./functions/warm-copies.js";
import { Lease } from "./lease.js";
import { LeaseLedger } from "./lease-ledger.js";
import { isAttemptOver } from "./rejection.js";
import { renewUnary } from "./renew-unary.js";
import { Renewals } from "./renewals.js";
import type { Secrets } from "./secrets.js";
import { sendEnd, sendRelease } from "./send-end.js";
import { startTimer, type Timer, wait } from "./time.js";
import type { WorkPort } from "./work-port.js";
import type { WorkStream } from "./work-stream.js";

/** A handler whose attempt is over for this long, in ms, is stuck: its slot goes to another. */
const STUCK_MS = 10_000;

/** Between two questions whether a lease still holds, in ms. */
const VERIFY_MS = 500;

/** What attempts ask of the worker that runs them. */
export interface AttemptsOwner {
  /** A slot is free again. */
  slotFreed(): void;
  /** A handler does not stop. */
  stuck(offer: Offer): void;
  /** The last attempt has ended and is answered. */
  idle(): void;
}

/** What the attempts of a worker are run with. */
export interface RunningAttemptsOptions {
  readonly core: ClientCore;
  readonly stream: WorkStream;
  readonly port: WorkPort;
  readonly served: ReadonlyMap<string, ServedTask>;
  /** Functions that wait in memory. */
  readonly warm: WarmCopies;
  /** What credentials are looked up by. */
  readonly secrets: Secrets;
  readonly owner: AttemptsOwner;
}

/** One attempt and what belongs to it. */
interface Running {
  readonly lease: Lease;
  readonly offer: Offer;
  readonly state: AttemptState;
  timers: Timer[];
  hasSlot: boolean;
  isDone: boolean;
}

/** The attempts of a worker, by the handle of their lease, until the kernel has answered how they ended. */
export class RunningAttempts {
  readonly #options: RunningAttemptsOptions;
  readonly #running = new Map<number, Running>();
  readonly #renewals: Renewals;

  constructor(options: RunningAttemptsOptions) {
    this.#options = options;
    const { core } = options;
    this.#renewals = new Renewals({
      leases: { [Symbol.iterator]: () => this.#leases() },
      renew: (lease) => this.#renew(lease),
      renewUnary: (leases) => renewUnary(core.api, core.namespace, leases, core.signal),
      lost: (lease) => this.lost(lease.handle, "expired"),
      cancelRequested: (lease) => this.cancel(lease.handle, "", 0),
    });
  }

  get size(): number {
    return this.#running.size;
  }

  /** Leases that are held, for `Hello`. */
  get held(): Lease[] {
    return [...this.#running.values()].map(({ lease }) => lease);
  }

  /** Runs what was offered. */
  take(offer: Offer): void {
    const { stream, served, secrets } = this.#options;
    const running: Running = {
      lease: new Lease(offer),
      offer,
      state: new AttemptState(secrets),
      timers: [],
      hasSlot: true,
      isDone: false,
    };
    this.#running.set(offer.handle, running);
    stream.post((outbox) => outbox.ack(offer.handle));
    this.#renewals.added(running.lease);
    const task = served.get(offer.kind);
    if (task === undefined) {
      void this.#giveBack(running, `This worker serves no task "${offer.kind}".`);
      return;
    }
    if (offer.attemptMs > 0) {
      running.timers.push(
        startTimer(offer.attemptMs, () => running.state.abort(new TimedOut(offer.attemptMs))),
      );
    }
    void this.#run(running, task);
  }

  /** Gives an offer back that came after the worker began to drain. */
  decline(offer: Offer): void {
    const lease = new Lease(offer);
    void sendRelease(this.#options.stream, lease, { reason: "The worker is going away." });
  }

  /** Cancellation was asked for. */
  cancel(handle: number, reason: string, graceMs: number): void {
    const running = this.#running.get(handle);
    running?.state.abort(new Cancelled(reason, graceMs));
  }

  /** Something ended for a task that is held. */
  outcomes(handle: number, outcomes: readonly WaitOutcome[]): void {
    const running = this.#running.get(handle);
    if (running === undefined) return;
    running.lease.seenThrough = outcomes.at(-1)?.number ?? running.lease.seenThrough;
    running.state.arrived(outcomes);
  }

  /** A lease is gone. */
  lost(handle: number, cause: string): void {
    const running = this.#running.get(handle);
    if (running === undefined) {
      return;
    }
    if (!running.lease.isOver) {
      running.lease.isOver = true;
      // One that gave its task back knows why already.
      if (!running.state.isOver) running.state.end(new LeaseLost(cause));
    }
    if (!running.isDone) this.#watchStuck(running);
  }

  /** Renews every lease, for example on a new stream. */
  renewAll(): void {
    for (const { lease } of this.#running.values()) this.#renew(lease);
  }

  /** Asks everything that runs to stop. */
  abortAll(reason: AttemptEnded): void {
    for (const { state } of this.#running.values()) state.abort(reason);
  }

  /** Gives back what still runs: nothing it reports is taken any more. */
  async giveBackAll(reason: AttemptEnded): Promise<void> {
    const gone = [...this.#running.values()].filter(
      ({ lease, isDone }) => !lease.isOver && !isDone,
    );
    await Promise.all(
      gone.map(async (running) => {
        running.state.end(reason);
        await sendRelease(this.#options.stream, running.lease, {
          reason: "The worker is going away.",
        });
      }),
    );
  }

  /** Ends all timers. */
  stop(): void {
    this.#renewals.stop();
    this.#options.warm.clear();
    for (const { timers } of this.#running.values()) for (const timer of timers) timer.cancel();
  }

  *#leases(): Iterator<Lease> {
    for (const { lease } of this.#running.values()) {
      if (!lease.isOver) yield lease;
    }
  }

  #renew(lease: Lease): boolean {
    const { stream } = this.#options;
    if (stream.isUp) stream.post((outbox) => outbox.renew(lease));
    return stream.isUp;
  }

  async #run(running: Running, served: ServedTask): Promise<void> {
    const { stream, port, warm } = this.#options;
    const { lease, offer, state } = running;
    const load = (payload: Parameters<typeof port.load>[0]): ReturnType<typeof port.load> =>
      port.load(payload, offer.runId);
    const ledger = new LeaseLedger({
      lease,
      state,
      stream,
      verify: () => this.#verify(lease, state),
      load,
      release: (reason) => sendRelease(stream, lease, { reason }),
    });
    if (lease.leaseVersion > 1) {
      // An earlier holder may have died of it at once. Were this one to as well before its acknowledgement has left, its death would use no attempt,
      // and the task would go round and kill on.
      await stream.confirm();
    }
    const readRecords = (afterNumber: number): ReturnType<typeof port.readRecords> =>
      port.readRecords(lease, afterNumber);
    const copy = warm.take(offer);
    const end: AttemptEnd = state.isOver
      ? { case: "nothing" }
      : this.#keepWarm(
          await runAttempt({ offer, served, lease, state, port, ledger, load, readRecords, copy }),
          running,
        );
    running.isDone = true;
    for (const timer of running.timers) timer.cancel();
    running.timers = [];
    const told = end.case === "nothing" ? undefined : sendEnd(stream, lease, end);
    this.#freeSlot(running);
    if ((await told) === false) warm.drop(offer);
    this.#forget(running);
  }

  /** Keeps a function that waits in memory, if there is room. A worker that was asked to stop keeps nothing. */
  #keepWarm(end: AttemptEnd, { offer, state }: Running): AttemptEnd {
    if (end.case !== "suspend" || end.copy === undefined) return end;
    const { copy } = end;
    if (state.reason !== undefined || !this.#options.warm.keep(offer, copy)) {
      return { ...end, copy: undefined };
    }
    copy.ctx.fallAsleep();
    return end;
  }

  async #giveBack(running: Running, reason: string): Promise<void> {
    running.isDone = true;
    const told = sendRelease(this.#options.stream, running.lease, { reason });
    this.#freeSlot(running);
    await told;
    this.#forget(running);
  }

  #freeSlot(running: Running): void {
    if (running.hasSlot) {
      running.hasSlot = false;
      this.#options.owner.slotFreed();
    }
  }

  #forget(running: Running): void {
    running.lease.isOver = true;
    for (const timer of running.timers) timer.cancel();
    if (this.#running.get(running.lease.handle) === running) {
      this.#running.delete(running.lease.handle);
    }
    if (this.#running.size === 0) this.#options.owner.idle();
  }

  #watchStuck(running: Running): void {
    running.timers.push(
      startTimer(STUCK_MS, () => {
        if (running.isDone) return;
        this.#options.owner.stuck(running.offer);
        this.#freeSlot(running);
      }),
    );
  }

  /** Asks the kernel whether a lease still holds, however long it takes to be reached. */
  async #verify(lease: Lease, state: AttemptState): Promise<void> {
    const { core } = this.#options;
    for (;;) {
      state.assertUsable("an operation");
      const results: RenewedLease[] | undefined = await renewUnary(
        core.api,
        core.namespace,
        [lease],
        core.signal,
      );
      const result = results?.[0];
      if (result !== undefined && result.rejection === undefined) {
        return;
      }
      if (result?.rejection !== undefined && isAttemptOver(result.rejection)) {
        this.lost(lease.handle, "expired");
      }
      await wait(VERIFY_MS, state.signal);
    }
  }
}

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { create } from "@bufbuild/protobuf";
import {
  HeldLeaseSchema,
  type Hello,
  HelloSchema,
  type Offer,
  ServedKindSchema,
  type WorkResponse,
} from "@pawl/proto/v1/worker_service_pb.js";
import { Draining } from "../abort-reasons.js";
import { Closed, type PawlError } from "../errors.js";
import type { CloseOptions, Worker, WorkerOptions } from "../worker-options.js";
import { checkWorkerOptions } from "./check-worker-options.js";
import type { ClientCore } from "./client-core.js";
import { type Deferred, defer } from "./deferred.js";
import { WARM_BYTES_DEFAULT, WarmCopies } from "./functions/warm-copies.js";
import { kindOf } from "./kind-of.js";
import { watchLooseRejections } from "./loose-rejections.js";
import { type AttemptsOwner, RunningAttempts } from "./running-attempts.js";
import { Secrets } from "./secrets.js";
import { startTimer } from "./time.js";
import { WorkPort } from "./work-port.js";
import { WorkStream, type WorkStreamOwner } from "./work-stream.js";

/** Slots of a worker that names no number. */
const SLOTS_DEFAULT = 16;

/** How long running attempts may take at close, in ms. */
const DRAIN_MS_DEFAULT = 10_000;

/** How long handlers that were asked to stop may take, and then the answers to what was sent last, in ms. */
const FAREWELL_MS_MAX = 2_000;

/** Even a close that waits for nothing gives the kernel this long to answer what was sent last, in ms. */
const FAREWELL_MS_MIN = 200;

/** A worker session: from the first Hello to goodbye, over however many streams. */
export class WorkSession implements Worker, WorkStreamOwner, AttemptsOwner {
  readonly sessionId: string = randomUUID();
  readonly #core: ClientCore;
  readonly #options: WorkerOptions;
  readonly #stream: WorkStream;
  readonly #attempts: RunningAttempts;
  readonly #ready: Deferred<void> = defer();
  readonly #onClosed: (session: WorkSession) => void;
  readonly #unwatch: () => void;
  #freeSlots: number;
  #isDraining = false;
  #closed: Promise<void> | undefined;
  #idle: Deferred<void> | undefined;

  /**
   * @param onClosed Told when it is closed.
   * @throws DefinitionInvalid
   */
  constructor(core: ClientCore, options: WorkerOptions, onClosed: (session: WorkSession) => void) {
    checkWorkerOptions(options);
    this.#core = core;
    this.#options = options;
    this.#onClosed = onClosed;
    this.#freeSlots = options.slots ?? SLOTS_DEFAULT;
    this.#unwatch = watchLooseRejections();
    const stream = new WorkStream({ api: core.api, monitor: core.monitor, owner: this });
    this.#stream = stream;
    const secrets = new Secrets(options.secrets);
    this.#attempts = new RunningAttempts({
      core,
      stream,
      port: new WorkPort(core, stream, secrets),
      secrets,
      served: new Map(options.serve.map((served) => [kindOf(served), served])),
      warm: new WarmCopies(options.warmBytesMax ?? WARM_BYTES_DEFAULT),
      owner: this,
    });
  }

  get running(): number {
    return this.#attempts.size;
  }

  /** Opens the stream; resolves when the kernel has welcomed the worker. */
  async open(): Promise<void> {
    const { signal } = this.#options;
    if (signal?.aborted === true) {
      throw new Closed("worker");
    }
    signal?.addEventListener("abort", () => void this.close(), { once: true });
    this.#stream.open();
    await this.#ready.promise;
  }

  close(options: CloseOptions = {}): Promise<void> {
    this.#closed ??= this.#close(options.drainMs ?? DRAIN_MS_DEFAULT);
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  hello(): Hello {
    const { name, serve } = this.#options;
    return create(HelloSchema, {
      protocolVersion: 1,
      sessionId: this.sessionId,
      worker: name ?? `${hostname()}:${process.pid}`.slice(0, 200),
      namespace: this.#core.namespace,
      serves: serve.map((served) =>
        create(ServedKindSchema, { kind: kindOf(served), queue: served.schedule.queue ?? "" }),
      ),
      holds: this.#attempts.held.map((lease) => create(HeldLeaseSchema, lease.held)),
    });
  }

  freeSlots(): number {
    return Math.max(0, this.#freeSlots);
  }

  up(lostHandles: readonly number[]): void {
    this.#ready.resolve();
    for (const handle of lostHandles) this.#attempts.lost(handle, "");
    this.#attempts.renewAll();
  }

  unreachable(error: PawlError): void {
    this.#ready.reject(error);
  }

  receive(response: WorkResponse): void {
    for (const offer of response.offers) this.#offered(offer);
    for (const { handle, reason, graceMs } of response.cancels) {
      this.#attempts.cancel(handle, reason, graceMs);
    }
    for (const { handle, outcomes } of response.outcomes) {
      this.#attempts.outcomes(handle, outcomes);
    }
    for (const { handle, cause } of response.lostLeases) this.#attempts.lost(handle, cause);
  }

  slotFreed(): void {
    this.#freeSlots++;
    if (!this.#isDraining) this.#stream.post((outbox) => outbox.credits(1));
  }

  stuck(offer: Offer): void {
    const { onStuck } = this.#options;
    if (onStuck !== undefined) {
      onStuck({ task: offer.task, runId: offer.runId });
      return;
    }
    process.emitWarning(
      `The handler of task "${offer.task}" of run "${offer.runId}" goes on although its attempt is over. Its slot is given to another. Heed ctx.signal.`,
      { type: "PawlWarning", code: "PAWL_HANDLER_STUCK" },
    );
  }

  idle(): void {
    this.#idle?.resolve();
    this.#stream.leaveWhenDone();
  }

  isIdle(): boolean {
    return this.#attempts.size === 0;
  }

  #offered(offer: Offer): void {
    if (this.#isDraining) {
      this.#attempts.decline(offer);
      return;
    }
    this.#freeSlots--;
    this.#attempts.take(offer);
  }

  async #close(drainMs: number): Promise<void> {
    const farewellMs = Math.max(FAREWELL_MS_MIN, Math.min(drainMs, FAREWELL_MS_MAX));
    this.#isDraining = true;
    this.#ready.reject(new Closed("worker"));
    const drained = this.#stream.drain();
    if (!(await this.#isIdleWithin(drainMs))) {
      const reason = new Draining();
      this.#attempts.abortAll(reason);
      if (!(await this.#isIdleWithin(farewellMs))) {
        const given = this.#attempts.giveBackAll(reason);
        await within(farewellMs, given);
      }
    }
    // An offer that crosses the farewell is given back: nobody else would get it before its lease is over.
    await within(farewellMs, drained);
    await within(farewellMs, this.#stream.answered());
    this.#attempts.stop();
    await this.#stream.close();
    this.#unwatch();
    this.#onClosed(this);
  }

  async #isIdleWithin(ms: number): Promise<boolean> {
    if (this.#attempts.size > 0) {
      this.#idle = defer();
      await within(ms, this.#idle.promise);
    }
    return this.#attempts.size === 0;
  }
}

/** Waits for something, but not longer. Keeps the process alive meanwhile. */
async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  const keepAlive = setInterval(() => undefined, 1_000);
  const over = defer<void>();
  const timer = startTimer(ms, () => over.resolve());
  await Promise.race([promise, over.promise]);
  timer.cancel();
  clearInterval(keepAlive);
}

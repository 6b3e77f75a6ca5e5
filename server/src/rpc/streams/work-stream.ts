import {
  decodeWorkRequest,
  type ItemResultShape,
  type WorkRequestShape,
} from "@pawl/proto/v1/worker_service_wire.js";
import { WireError } from "@pawl/proto/wire/wire-error.js";
import { limits } from "../../core/limits.js";
import { invalidField, type Rejection } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import type { SessionLease, SessionListener, WorkerSession } from "../../kernel/kernel-api.js";
import { type Outcome, RejectionError, type Target } from "../../kernel/outcome.js";
import type { Cancellable } from "../../kernel/ports.js";
import type { Edge } from "../edge.js";
import { rejectionOf } from "../fault.js";
import type { OpenCall } from "../lifecycle.js";
import { scanPayload } from "../payload-scan.js";
import { unavailable, unreadable } from "../refusals.js";
import { rejectionShape } from "../rejection-shape.js";
import { intentAnswer } from "../views/intent-view.js";
import type { ByteStream, ByteStreamListener } from "./byte-stream.js";
import { type Handle, Handles } from "./handles.js";
import { Inbox } from "./inbox.js";
import { offerShape, stepShape } from "./offer.js";
import { mayBeSameStep, reconsiderStep } from "./reconsider-step.js";
import { SealedMessages } from "./sealed-messages.js";
import { Slots } from "./slots.js";
import { pingIntervalMs, readHello, welcomeOf } from "./work-hello.js";
import { orderOf, type WorkItem } from "./work-orders.js";
import { WorkOutbox, workPositionTag } from "./work-outbox.js";
import { largeItems, type Preparations, prepareItems } from "./work-preparation.js";

/** Pings in a row without a message from the worker after which its stream is dead. */
const silentTicksMax = 3;

/** An item whose answer is awaited. */
interface Pending {
  readonly work: WorkItem;
  readonly entry: Handle | undefined;
}

/**
 * One Work stream: the session of one worker. Items are handed to the kernel in the documented order; their answers, and the offers of
 * the same turn, leave in one message once they are durable. What is memory only is done at once and not answered.
 */
export class WorkStream implements SessionListener, ByteStreamListener, OpenCall {
  readonly #edge: Edge;
  readonly #stream: ByteStream;
  readonly #principal: string;
  readonly #pending: Slots<Pending> = new Slots();
  readonly #handles: Handles = new Handles();
  readonly #sealed: SealedMessages = new SealedMessages(workPositionTag);
  readonly #inbox: Inbox<WorkRequestShape>;
  /** What is held back until it is durable. */
  readonly #outbox: WorkOutbox = new WorkOutbox();
  /** What depends on nothing that must be durable. */
  readonly #now: WorkOutbox = new WorkOutbox();
  #session: WorkerSession | undefined;
  #namespace = "default";
  #position: Uint8Array = new Uint8Array(0);
  #ping: Cancellable | undefined;
  #lastPing = 0;
  #silentTicks = 0;
  #isHalfClosed = false;
  #isGone = false;

  constructor(edge: Edge, stream: ByteStream, principal: string) {
    this.#edge = edge;
    this.#stream = stream;
    this.#principal = principal;
    this.#inbox = new Inbox(
      stream,
      (request) => this.#handle(request),
      (error) => this.#fail(this.#toRejection(error)),
    );
    edge.lifecycle.add(this);
    this.#armPing();
  }

  message(bytes: Uint8Array): void {
    this.#silentTicks = 0;
    let request: WorkRequestShape;
    try {
      request = decodeWorkRequest(bytes);
    } catch (error) {
      if (error instanceof WireError) {
        this.#fail(unreadable("pawl.v1.WorkRequest", error));
        return;
      }
      throw error;
    }
    this.#inbox.push(request);
  }

  drained(): void {
    this.#inbox.roomAgain();
  }

  halfClosed(): void {
    this.#isHalfClosed = true;
    this.#session?.drain();
    this.#endWhenDone();
  }

  gone(): void {
    if (!this.#isGone) {
      this.#isGone = true;
      this.#ping?.cancel();
      this.#session?.disconnect();
      this.#edge.lifecycle.remove(this);
    }
  }

  /** The worker is told, and given no more; it ends the stream when its leases have ended. */
  drain(): void {
    this.#session?.drain();
    this.#now.drain = true;
    this.#sendNow();
  }

  abort(rejection: Rejection): void {
    this.#fail(rejection);
  }

  offer(lease: SessionLease, run: Run): void {
    this.#handles.offer(lease);
    const offer = offerShape(lease.handle, run, lease.task);
    if (offer !== undefined) {
      this.#outbox.offers.push(offer);
    }
  }

  cancel(handle: number, reason: string, graceMs: number): void {
    this.#outbox.cancels.push({ handle, reason, graceMs });
  }

  lost(handle: number, cause: string): void {
    this.#handles.end(handle);
    this.#outbox.lostLeases.push({ handle, cause });
  }

  outcome(tag: number, outcome: Outcome): void {
    const pending = this.#pending.take(tag);
    if (pending === undefined || this.#isGone) {
      return;
    }
    if (outcome.accepted) {
      this.#accept(pending, outcome);
    } else {
      this.#refuse(pending, outcome.rejection);
    }
  }

  prepare(): void {
    this.#seal(this.#outbox);
  }

  release(position: Uint8Array): void {
    this.#position = position;
    if (!this.#sealed.isEmpty && !this.#isGone) {
      this.#send();
    }
    this.#endWhenDone();
  }

  #seal(outbox: WorkOutbox): void {
    const { refused } = outbox;
    if (refused.length > 0) {
      outbox.ping = ++this.#lastPing;
      for (const entry of refused) {
        entry.refusalPing = outbox.ping;
      }
      refused.length = 0;
    }
    outbox.seal(this.#sealed);
  }

  #send(): void {
    for (const message of this.#sealed.take(this.#position)) {
      if (!this.#stream.write(message)) {
        this.#inbox.noRoom();
      }
    }
  }

  #sendNow(): void {
    if (this.#isGone || this.#now.isEmpty) {
      return;
    }
    const isSyncing = !this.#sealed.isEmpty;
    this.#seal(this.#now);
    if (!isSyncing) {
      this.#send();
    }
  }

  /** Pings both ways: a stream whose other end is gone without a word is found within seconds. */
  #armPing(): void {
    this.#ping = this.#edge.timers.after(pingIntervalMs, () => {
      this.#silentTicks++;
      if (this.#silentTicks >= silentTicksMax) {
        const silentMs = this.#silentTicks * pingIntervalMs;
        this.#fail(unavailable(`nothing was heard of the worker for ${silentMs} ms`));
        return;
      }
      if (this.#session !== undefined) {
        this.#now.ping = ++this.#lastPing;
        this.#sendNow();
      }
      this.#armPing();
    });
  }

  #handle(request: WorkRequestShape): Promise<void> | undefined {
    const { hello } = request;
    if (this.#session === undefined) {
      return this.#connect(request);
    }
    if (hello !== undefined) {
      throw badMessage("hello", "in the first message only", "in a later one");
    }
    return this.#work(request, this.#session);
  }

  async #connect(request: WorkRequestShape): Promise<void> {
    const { hello } = request;
    if (hello === undefined) {
      throw badMessage("hello", "set in the first message", "absent");
    }
    const sessionHello = readHello(hello);
    this.#namespace = sessionHello.namespace;
    for (const held of hello.holds) {
      this.#handles.adopt(held, this.#namespace);
    }
    const session = await this.#edge.kernel.connectSession(sessionHello, this);
    if (this.#isGone) {
      session.disconnect();
      return;
    }
    this.#session = session;
    for (const handle of session.lostHandles) {
      this.#handles.end(handle);
    }
    this.#now.welcome = welcomeOf(hello, session.lostHandles);
    this.#now.drain = this.#edge.lifecycle.state === "draining";
    this.#sendNow();
    await this.#work(request, session);
  }

  #work(request: WorkRequestShape, session: WorkerSession): Promise<void> | undefined {
    this.#signals(request, session);
    const large = largeItems(request);
    if (large.length === 0) {
      this.#items(request, undefined);
      return undefined;
    }
    return prepareItems(this.#edge, large, (handle, runId) => this.#targetOf(handle, runId)).then(
      (prepared) => this.#items(request, prepared),
    );
  }

  /** What is memory only. */
  #signals(request: WorkRequestShape, session: WorkerSession): void {
    if (request.pong !== 0) {
      this.#handles.pong(request.pong);
    }
    if (request.ping !== 0) {
      this.#now.pong = request.ping;
    }
    for (const handle of request.acks) {
      this.#acknowledge(this.#handles.get(handle), session);
    }
    for (const handle of request.renewals) {
      if (!session.renew(handle) && this.#handles.get(handle) === undefined) {
        this.#now.lostLeases.push({ handle, cause: "returned" });
      }
    }
    for (const { handle, progress } of request.progress) {
      if (progress !== undefined && this.#isProgress(progress)) {
        session.progress(handle, progress);
      }
    }
    if (request.credits !== 0) {
      session.addCredits(request.credits);
    }
    if (request.drain) {
      session.drain();
    }
  }

  /** Progress is not answered, so what is wrong with it can only be left out. */
  #isProgress(progress: Uint8Array): boolean {
    try {
      scanPayload(progress, "progress");
      return progress.length <= limits.inlineBytesMax;
    } catch (error) {
      if (error instanceof RejectionError) {
        return false;
      }
      throw error;
    }
  }

  #acknowledge(entry: Handle | undefined, session: WorkerSession): void {
    if (entry !== undefined && !entry.isAcknowledged) {
      entry.isAcknowledged = true;
      session.acknowledge(entry.handle);
    }
  }

  #items(request: WorkRequestShape, prepared: Preparations | undefined): void {
    for (const item of request.steps) {
      this.#begin({ kind: "step", item }, prepared);
    }
    for (const item of request.observations) {
      this.#begin({ kind: "observation", item }, prepared);
    }
    for (const item of request.reconciliations) {
      this.#begin({ kind: "reconciliation", item }, prepared);
    }
    for (const item of request.intents) {
      this.#begin({ kind: "intent", item }, prepared);
    }
    for (const item of request.reports) {
      this.#begin({ kind: "report", item }, prepared);
    }
    for (const item of request.releases) {
      this.#begin({ kind: "release", item }, prepared);
    }
    this.#sendNow();
  }

  #begin(work: WorkItem, prepared: Preparations | undefined): void {
    const { handle, leaseVersion, correlation } = work.item;
    const entry = this.#handles.get(handle);
    const isObservation = work.kind === "observation";
    if (entry === undefined && !(isObservation && handle === 0)) {
      this.#now.results.push({
        correlation,
        existing: false,
        rejection: rejectionShape(unknownHandle(handle, leaseVersion)),
      });
      return;
    }
    if (this.#session !== undefined) {
      this.#acknowledge(entry, this.#session);
    }
    if (entry?.held !== undefined) {
      // An earlier item may turn out to be refused; until that is known this one waits.
      entry.held.push(() => this.#begin(work, prepared));
      return;
    }
    if (!isObservation && entry?.refusal !== undefined && entry.leaseVersion === leaseVersion) {
      const rejection = rejectionShape(entry.refusal);
      this.#now.results.push({ correlation, existing: false, rejection });
      return;
    }
    this.#execute({ work, entry }, prepared);
  }

  #execute(pending: Pending, prepared: Preparations | undefined): void {
    const { work, entry } = pending;
    try {
      const preparation = prepared?.get(work.item);
      if (preparation?.rejection !== undefined) {
        throw new RejectionError(preparation.rejection);
      }
      const parts = { namespace: this.#namespace, entry, prepared: preparation };
      const { target, command } = orderOf(work, parts);
      const tag = this.#pending.add(pending);
      this.#edge.kernel.execute(target, command, this.#principal, { receiver: this, tag });
    } catch (error) {
      this.#answerRefusal(pending, this.#toRejection(error), this.#now);
    }
  }

  #accept({ work, entry }: Pending, outcome: Extract<Outcome, { accepted: true }>): void {
    const { correlation } = work.item;
    const { existing, step, intent } = outcome.reply;
    if (entry !== undefined && (work.kind === "report" || work.kind === "release")) {
      this.#handles.end(entry.handle);
    }
    if (intent !== undefined) {
      const answer = intentAnswer(outcome.run, intent, outcome.runNumber);
      this.#outbox.results.push({ correlation, existing, intent: answer });
    } else if (!existing) {
      this.#outbox.accepted.push(correlation);
    } else {
      const result: ItemResultShape = { correlation, existing };
      this.#outbox.results.push(step === undefined ? result : { ...result, step: stepShape(step) });
    }
  }

  #refuse(pending: Pending, rejection: Rejection): void {
    const { work, entry } = pending;
    if (work.kind === "step" && entry !== undefined && mayBeSameStep({ ...work, rejection })) {
      entry.held = [];
      void this.#reconsider(pending, entry, rejection);
    } else {
      this.#answerRefusal(pending, rejection, this.#outbox);
    }
  }

  #answerRefusal({ work, entry }: Pending, rejection: Rejection, outbox: WorkOutbox): void {
    const { correlation } = work.item;
    outbox.results.push({ correlation, existing: false, rejection: rejectionShape(rejection) });
    if (
      entry !== undefined &&
      work.kind !== "observation" &&
      this.#handles.refuse(entry, rejection)
    ) {
      outbox.refused.push(entry);
    }
  }

  async #reconsider(pending: Pending, entry: Handle, rejection: Rejection): Promise<void> {
    const { work } = pending;
    try {
      if (work.kind !== "step") {
        return;
      }
      const { target, task } = entry;
      const answer = await reconsiderStep(this.#edge, { target, task, item: work.item, rejection });
      if (answer.rejection === undefined) {
        this.#now.results.push(answer);
      } else {
        this.#answerRefusal(pending, rejection, this.#now);
      }
    } catch (error) {
      this.#answerRefusal(pending, this.#toRejection(error), this.#now);
    } finally {
      const held = entry.held ?? [];
      entry.held = undefined;
      for (const begin of held) {
        begin();
      }
      this.#sendNow();
    }
  }

  #targetOf(handle: number, runId: string): Target | undefined {
    const entry = this.#handles.get(handle);
    if (entry !== undefined) {
      return entry.target;
    }
    return runId === "" ? undefined : { kind: "run", namespace: this.#namespace, runId };
  }

  #toRejection(error: unknown): Rejection {
    return rejectionOf(this.#edge, error, "Work") ?? unavailable("the caller has gone");
  }

  #fail(rejection: Rejection): void {
    if (!this.#isGone) {
      this.gone();
      this.#stream.fail(rejection);
    }
  }

  #endWhenDone(): void {
    const isDone =
      this.#isHalfClosed &&
      this.#pending.size === 0 &&
      this.#sealed.isEmpty &&
      this.#outbox.isEmpty &&
      this.#inbox.isIdle;
    if (isDone && !this.#isGone) {
      this.gone();
      this.#stream.end();
    }
  }
}

function badMessage(field: string, expected: string, actual: string): RejectionError {
  return new RejectionError(invalidField(field, expected, actual));
}

function unknownHandle(handle: number, held: number): Rejection {
  return {
    reason: "PAWL_LEASE_LOST",
    message:
      `Expected handle ${handle} to name a lease of this stream, but none has it: it has ended, or another stream holds it. ` +
      "Stop the attempt: nothing it reports counts any more.",
    detail: { case: "leaseLost", value: { held, current: 0, status: "", cause: "" } },
  };
}

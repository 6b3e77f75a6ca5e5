import { decodeWorkRequest, type WorkRequestShape } from "@pawl/proto/v1/worker_service_wire.js";
import { WireError } from "@pawl/proto/wire/wire-error.js";
import { invalidField, type Rejection } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import type { SessionLease, SessionListener, WorkerSession } from "../../kernel/kernel-api.js";
import { type Outcome, RejectionError } from "../../kernel/outcome.js";
import type { Cancellable } from "../../kernel/ports.js";
import type { StreamAccess } from "../access/stream-access.js";
import type { Edge } from "../edge.js";
import { rejectionOf } from "../fault.js";
import type { OpenCall } from "../lifecycle.js";
import { unavailable, unreadable } from "../refusals.js";
import { screenWork } from "../screen/screen-streams.js";
import type { ByteStream, ByteStreamListener } from "./byte-stream.js";
import { Handles } from "./handles.js";
import { Inbox } from "./inbox.js";
import { offerShape } from "./offer.js";
import { SealedMessages } from "./sealed-messages.js";
import { takeOutcomes } from "./task-outcomes.js";
import { pingIntervalMs, readHello, welcomeOf } from "./work-hello.js";
import { WorkItems } from "./work-items.js";
import { acknowledge, takeNotices } from "./work-notices.js";
import { WorkOutbox, workPositionTag } from "./work-outbox.js";
import { heldUpItems, type Preparations, prepareItems } from "./work-preparation.js";

/** Pings in a row without a message from the worker after which its stream is dead. */
const silentTicksMax = 3;

/** A message as it came, with its bytes when they are worth a second look. */
type ReceivedWork = WorkRequestShape & { readonly suspect?: Uint8Array };

/**
 * One Work stream: the session of one worker. Items are handed to the kernel in the documented order; their answers, and the offers of
 * the same turn, leave in one message once they are durable. What is memory only is done at once and not answered.
 */
export class WorkStream implements SessionListener, ByteStreamListener, OpenCall {
  readonly method: string = "Work";
  readonly #edge: Edge;
  readonly #stream: ByteStream;
  readonly #handles: Handles = new Handles();
  readonly #sealed: SealedMessages = new SealedMessages(workPositionTag);
  readonly #inbox: Inbox<ReceivedWork>;
  /** What is held back until it is durable. */
  readonly #outbox: WorkOutbox = new WorkOutbox();
  /** What depends on nothing that must be durable. */
  readonly #now: WorkOutbox = new WorkOutbox();
  /** Leases for which something ended in this turn. */
  readonly #ended: Map<SessionLease, Run> = new Map();
  readonly #access: StreamAccess;
  readonly #items: WorkItems;
  #session: WorkerSession | undefined;
  #position: Uint8Array = new Uint8Array(0);
  #ping: Cancellable | undefined;
  #lastPing = 0;
  #silentTicks = 0;
  #isHalfClosed = false;
  #isGone = false;

  constructor(edge: Edge, stream: ByteStream, access: StreamAccess) {
    this.#edge = edge;
    this.#stream = stream;
    this.#access = access;
    this.#items = new WorkItems({
      edge,
      access,
      receiver: this,
      handles: this.#handles,
      outbox: this.#outbox,
      now: this.#now,
      acknowledge: (entry) => {
        if (this.#session !== undefined) {
          acknowledge(entry, this.#session);
        }
      },
      sendNow: () => this.#sendNow(),
      toRejection: (error) => this.#toRejection(error),
    });
    this.#inbox = new Inbox(
      stream,
      (request) => this.#handle(request),
      (error) => this.fault(error),
    );
    edge.lifecycle.add(this);
    this.#armPing();
  }

  message(bytes: Uint8Array): void {
    this.#silentTicks = 0;
    let request: WorkRequestShape;
    try {
      request = decodeWorkRequest(bytes);
      if (this.#edge.screen.mayHold(bytes)) {
        this.#inbox.push({ ...request, suspect: bytes });
        return;
      }
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
    this.#session?.setRoom(true);
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

  fault(error: unknown): void {
    this.#fail(this.#toRejection(error));
  }

  superseded(): void {
    this.#fail(
      invalidField(
        "hello.session_id",
        "used by one connection at a time",
        "used by a later connection, which has the session now",
      ),
    );
  }

  offer(lease: SessionLease, run: Run): void {
    this.#handles.offer(lease, run.eventCount);
    const offer = offerShape(lease, run);
    if (offer !== undefined) {
      this.#outbox.offers.push(offer);
    }
  }

  ended(lease: SessionLease, run: Run): void {
    this.#ended.set(lease, run);
  }

  cancel(handle: number, reason: string, graceMs: number): void {
    this.#outbox.cancels.push({ handle, reason, graceMs });
  }

  lost(handle: number, cause: string): void {
    this.#handles.end(handle);
    this.#outbox.lostLeases.push({ handle, cause });
  }

  outcome(tag: number, outcome: Outcome): void {
    if (!this.#isGone) {
      this.#items.outcome(tag, outcome);
    }
  }

  prepare(): void {
    if (this.#ended.size > 0) {
      takeOutcomes(this.#ended, this.#handles, this.#outbox);
      this.#ended.clear();
    }
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
        this.#session?.setRoom(false);
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
      // While a message is worked on nothing more is read: a worker that nobody listens to is not silent.
      this.#silentTicks = this.#inbox.isBusy ? 0 : this.#silentTicks + 1;
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

  #handle(request: ReceivedWork): Promise<void> | undefined {
    const { hello } = request;
    if (this.#session === undefined) {
      return this.#connect(request);
    }
    if (hello !== undefined) {
      throw badMessage("hello", "in the first message only", "in a later one");
    }
    return this.#work(request, this.#session);
  }

  async #connect(request: ReceivedWork): Promise<void> {
    const { hello } = request;
    if (hello === undefined) {
      throw badMessage("hello", "set in the first message", "absent");
    }
    const caller = this.#access.callerIn(hello.namespace);
    const sessionHello = readHello(hello, caller);
    this.#items.caller = caller;
    this.#items.namespace = sessionHello.namespace;
    for (const held of hello.holds) {
      this.#handles.adopt(held, sessionHello.namespace);
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

  #work(received: ReceivedWork, session: WorkerSession): Promise<void> | undefined {
    const { screen } = this.#edge;
    const { request, refused } =
      received.suspect === undefined
        ? { request: received, refused: undefined }
        : screenWork(screen, this.#items.namespace, received.suspect);
    takeNotices(request, { session, handles: this.#handles, now: this.#now });
    const heldUp = heldUpItems(request).filter(({ work }) => refused?.has(work.item) !== true);
    if (heldUp.length === 0) {
      this.#begin(request, refusedItems(refused));
      return undefined;
    }
    const asker = { namespace: this.#items.namespace, isGone: () => this.#isGone };
    return prepareItems({ edge: this.#edge, asker }, heldUp, (work) =>
      this.#items.partsOf(work),
    ).then((prepared) =>
      this.#begin(request, new Map([...prepared, ...(refusedItems(refused) ?? [])])),
    );
  }

  #begin(request: WorkRequestShape, prepared: Preparations | undefined): void {
    this.#items.handle(request, prepared);
    this.#sendNow();
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
      this.#items.size === 0 &&
      this.#sealed.isEmpty &&
      this.#outbox.isEmpty &&
      this.#inbox.isIdle;
    if (isDone && !this.#isGone) {
      this.gone();
      this.#stream.end();
    }
  }
}

function refusedItems(
  refused: ReadonlyMap<object, Rejection> | undefined,
): Preparations | undefined {
  return refused && new Map([...refused].map(([item, rejection]) => [item, { rejection }]));
}

function badMessage(field: string, expected: string, actual: string): RejectionError {
  return new RejectionError(invalidField(field, expected, actual));
}

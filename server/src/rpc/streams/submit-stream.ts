import { decodeSubmitRequest, type SubmitRequestShape } from "@pawl/proto/v1/run_service_wire.js";
import { WireError } from "@pawl/proto/wire/wire-error.js";
import type { Rejection } from "../../core/rejection.js";
import { type Outcome, type Receiver, RejectionError } from "../../kernel/outcome.js";
import type { StreamAccess } from "../access/stream-access.js";
import type { Edge } from "../edge.js";
import { rejectionOf } from "../fault.js";
import type { OpenCall } from "../lifecycle.js";
import { unavailable, unreadable } from "../refusals.js";
import { type Screened, screenSubmit } from "../screen/screen-streams.js";
import type { ByteStream, ByteStreamListener } from "./byte-stream.js";
import { Inbox } from "./inbox.js";
import { SealedMessages } from "./sealed-messages.js";
import { SubmitItems } from "./submit-items.js";
import { SubmitOutbox, submitPositionTag } from "./submit-outbox.js";
import { needsPreparation, prepareSubmit, type SubmitPreparations } from "./submit-preparation.js";

/** A message as it came, with its bytes when they are worth a second look. */
type ReceivedSubmit = SubmitRequestShape & { readonly suspect?: Uint8Array };

const noRefusals: ReadonlyMap<object, Rejection> = new Map();

/**
 * One Submit stream: starts, signals and waits in, answers and results out. An item's answer is computed at its decision and sent in one
 * message with all others of its turn.
 */
export class SubmitStream implements Receiver, ByteStreamListener, OpenCall {
  readonly method: string = "Submit";
  readonly #edge: Edge;
  readonly #stream: ByteStream;
  readonly #sealed: SealedMessages = new SealedMessages(submitPositionTag);
  readonly #inbox: Inbox<ReceivedSubmit>;
  /** What is held back until it is durable. */
  readonly #outbox: SubmitOutbox = new SubmitOutbox();
  /** What depends on nothing that must be durable. */
  readonly #now: SubmitOutbox = new SubmitOutbox();
  readonly #access: StreamAccess;
  readonly #items: SubmitItems;
  #position: Uint8Array = new Uint8Array(0);
  #isHalfClosed = false;
  #isDraining = false;
  #isGone = false;

  constructor(edge: Edge, stream: ByteStream, access: StreamAccess) {
    this.#edge = edge;
    this.#stream = stream;
    this.#access = access;
    this.#items = new SubmitItems({
      edge,
      access,
      receiver: this,
      outbox: this.#outbox,
      now: this.#now,
      sendNow: () => {
        this.#sendNow();
        this.#endWhenDone();
      },
      toRejection: (error) => this.#toRejection(error),
    });
    this.#inbox = new Inbox(
      stream,
      (request) => this.#handle(request),
      (error) => this.fault(error),
    );
    edge.lifecycle.add(this);
  }

  message(bytes: Uint8Array): void {
    let request: SubmitRequestShape;
    try {
      request = decodeSubmitRequest(bytes);
      if (this.#edge.screen.mayHold(bytes)) {
        this.#inbox.push({ ...request, suspect: bytes });
        return;
      }
    } catch (error) {
      if (error instanceof WireError) {
        this.#fail(unreadable("pawl.v1.SubmitRequest", error));
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
    this.#endWhenDone();
  }

  gone(): void {
    if (!this.#isGone) {
      this.#isGone = true;
      this.#items.gone();
      this.#edge.lifecycle.remove(this);
    }
  }

  /** Starts and signals that were handed over are still answered; whoever awaits a result asks the next kernel. */
  drain(): void {
    this.#isDraining = true;
    this.#inbox.close();
    this.#endWhenDone();
  }

  abort(rejection: Rejection): void {
    this.#fail(rejection);
  }

  outcome(tag: number, outcome: Outcome): void {
    this.#items.outcome(tag, outcome);
  }

  prepare(): void {
    this.#outbox.seal(this.#sealed);
  }

  release(position: Uint8Array): void {
    this.#position = position;
    if (!this.#sealed.isEmpty && !this.#isGone) {
      this.#send();
    }
    this.#endWhenDone();
  }

  #send(): void {
    for (const message of this.#sealed.take(this.#position)) {
      if (!this.#stream.write(message)) {
        this.#inbox.noRoom();
      }
    }
  }

  /** Sends what was decided outside a turn of the kernel and is durable already. */
  #sendNow(): void {
    if (this.#isGone || this.#now.isEmpty) {
      return;
    }
    // While a turn is being synced, what is durable already travels with it.
    const isSyncing = !this.#sealed.isEmpty;
    this.#now.seal(this.#sealed);
    if (!isSyncing) {
      this.#send();
    }
  }

  /** A promise is awaited first when large content must be stored before the event that names it. */
  #handle(received: ReceivedSubmit): Promise<void> | undefined {
    const { request, refused } =
      received.suspect === undefined
        ? { request: received, refused: noRefusals }
        : this.#screen(received, received.suspect);
    return refused.size > 0 || needsPreparation(request)
      ? this.#prepare(request, refused)
      : this.#begin(request, undefined);
  }

  #screen(request: SubmitRequestShape, bytes: Uint8Array): Screened<SubmitRequestShape> {
    try {
      return screenSubmit(this.#edge.screen, request.namespace, bytes);
    } catch (error) {
      if (error instanceof RejectionError) {
        return { request, refused: noRefusals }; // It names no namespace, and is refused for that.
      }
      throw error;
    }
  }

  async #prepare(
    request: SubmitRequestShape,
    refused: ReadonlyMap<object, Rejection>,
  ): Promise<void> {
    const parts = {
      edge: this.#edge,
      access: this.#access,
      toRejection: (error: unknown) => this.#toRejection(error),
    };
    this.#begin(request, await prepareSubmit(parts, request, refused));
  }

  #begin(request: SubmitRequestShape, prepared: SubmitPreparations | undefined): undefined {
    this.#items.handle(request, prepared);
    this.#sendNow();
    return undefined;
  }

  #toRejection(error: unknown): Rejection {
    return rejectionOf(this.#edge, error, "Submit") ?? unavailable("the caller has gone");
  }

  fault(error: unknown): void {
    this.#fail(this.#toRejection(error));
  }

  #fail(rejection: Rejection): void {
    if (!this.#isGone) {
      this.gone();
      this.#stream.fail(rejection);
    }
  }

  #endWhenDone(): void {
    const isBusy =
      this.#items.unanswered > 0 ||
      !this.#sealed.isEmpty ||
      !this.#inbox.isIdle ||
      !this.#outbox.isEmpty;
    if (this.#isGone || isBusy) {
      return;
    }
    if (this.#isDraining) {
      this.#fail(unavailable("it is going away"));
    } else if (this.#isHalfClosed && this.#items.size === 0) {
      this.gone();
      this.#stream.end();
    }
  }
}

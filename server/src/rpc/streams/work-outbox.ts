import {
  type CancelTaskShape,
  type ItemResultShape,
  type LostLeaseShape,
  type OfferShape,
  type TaskOutcomesShape,
  type WelcomeShape,
  writeCancelTask,
  writeItemResult,
  writeLostLease,
  writeOffer,
  writeTaskOutcomes,
  writeWelcome,
} from "@pawl/proto/v1/worker_service_wire.js";
import type { Handle } from "./handles.js";
import { sealAccepted } from "./seal-accepted.js";
import type { SealedMessages } from "./sealed-messages.js";

/** Tags of WorkResponse: field number and wire type. */
const tags = {
  welcome: 10,
  offers: 18,
  accepted: 26,
  results: 34,
  cancels: 42,
  lostLeases: 50,
  ping: 56,
  pong: 64,
  drain: 72,
  outcomes: 114,
} as const;

/** Tag of WorkResponse.position, its last field. */
export const workPositionTag = 82;

/** What waits to be sent on a Work stream. Reused: `seal` empties it. */
export class WorkOutbox {
  welcome: WelcomeShape | undefined;
  readonly offers: OfferShape[] = [];
  readonly accepted: number[] = [];
  readonly results: ItemResultShape[] = [];
  readonly cancels: CancelTaskShape[] = [];
  readonly lostLeases: LostLeaseShape[] = [];
  readonly outcomes: TaskOutcomesShape[] = [];
  ping = 0;
  pong = 0;
  drain = false;
  /** Leases whose refusal is among the results: the message that tells it carries a ping. */
  readonly refused: Handle[] = [];

  get isEmpty(): boolean {
    return (
      this.welcome === undefined &&
      this.offers.length === 0 &&
      this.accepted.length === 0 &&
      this.results.length === 0 &&
      this.cancels.length === 0 &&
      this.lostLeases.length === 0 &&
      this.outcomes.length === 0 &&
      this.ping === 0 &&
      this.pong === 0 &&
      !this.drain
    );
  }

  /** Encodes everything, offers first: they are what a worker waits for. */
  seal(sealed: SealedMessages): void {
    const { writer } = sealed;
    if (this.welcome !== undefined) {
      writer.tag(tags.welcome);
      const at = writer.begin();
      writeWelcome(writer, this.welcome);
      writer.end(at);
      this.welcome = undefined;
    }
    for (const offer of this.offers) {
      writer.tag(tags.offers);
      const at = writer.begin();
      writeOffer(writer, offer);
      writer.end(at);
      sealed.cut();
    }
    this.offers.length = 0;
    // Before the answers: what an answer tells of is never older than an outcome that comes after it.
    for (const outcomes of this.outcomes) {
      writer.tag(tags.outcomes);
      const at = writer.begin();
      writeTaskOutcomes(writer, outcomes);
      writer.end(at);
      sealed.cut();
    }
    this.outcomes.length = 0;
    sealAccepted(writer, tags.accepted, this.accepted);
    for (const result of this.results) {
      writer.tag(tags.results);
      const at = writer.begin();
      writeItemResult(writer, result);
      writer.end(at);
      sealed.cut();
    }
    this.results.length = 0;
    this.#sealLeases(sealed);
    this.#sealSignals(sealed);
  }

  #sealLeases({ writer }: SealedMessages): void {
    for (const cancel of this.cancels) {
      writer.tag(tags.cancels);
      const at = writer.begin();
      writeCancelTask(writer, cancel);
      writer.end(at);
    }
    this.cancels.length = 0;
    for (const lost of this.lostLeases) {
      writer.tag(tags.lostLeases);
      const at = writer.begin();
      writeLostLease(writer, lost);
      writer.end(at);
    }
    this.lostLeases.length = 0;
  }

  #sealSignals({ writer }: SealedMessages): void {
    if (this.ping !== 0) {
      writer.tag(tags.ping);
      writer.varint32(this.ping);
      this.ping = 0;
    }
    if (this.pong !== 0) {
      writer.tag(tags.pong);
      writer.varint32(this.pong);
      this.pong = 0;
    }
    if (this.drain) {
      writer.tag(tags.drain);
      writer.bool(true);
      this.drain = false;
    }
  }
}

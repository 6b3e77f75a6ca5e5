import { type Books, type Caller, digestRequest, nameOf } from "./books.js";
import type { Holds } from "./holds.js";
import { TicketError } from "./ticket-error.js";
import type { SinkMode, Ticket, TicketRequest } from "./wire.js";

/** One create call, read and checked. */
export interface CreateCall {
  readonly mode: SinkMode;
  /** The Idempotency-Key as sent. */
  readonly key: string | undefined;
  readonly request: TicketRequest;
  readonly isClientGone: () => boolean;
}

/** How a create call ended: with its ticket, or dropped by a test hook (the connection is cut). */
export type CreateEnd =
  | { readonly kind: "ticket"; readonly ticket: Ticket; readonly replayed: boolean }
  | { readonly kind: "dropped" };

/** What the three kinds of sink do with a call. */
export class TicketDesk {
  readonly #books: Books;
  readonly #holds: Holds;
  /** Idempotent keys whose effect is under way, with the request's digest. Memory: a restart has none under way. */
  readonly #inFlight = new Map<string, string>();

  constructor(books: Books, holds: Holds) {
    this.#books = books;
    this.#holds = holds;
  }

  /**
   * Creates a ticket, or in mode idempotent finds the one that the key has already made. Throws 422
   * `TICKET_KEY_REUSED` (same key, other request) and 409 `TICKET_KEY_IN_FLIGHT`, without an effect.
   */
  async create(call: CreateCall): Promise<CreateEnd> {
    const key = call.mode === "opaque" ? undefined : call.key;
    const caller: Caller = { mode: call.mode, key, title: call.request.title };
    await this.#books.recordCall(caller);
    if (call.mode !== "idempotent" || key === undefined) return this.#perform(caller, call);

    const digest = digestRequest(call.request);
    const settled = this.#books.findTickets("idempotent", key)[0];
    const knownDigest = settled?.digest ?? this.#inFlight.get(key);
    if (knownDigest !== undefined && knownDigest !== digest) throw keyReused(knownDigest, digest);
    if (settled !== undefined) return { kind: "ticket", ticket: settled.ticket, replayed: true };
    if (knownDigest !== undefined) throw keyInFlight(key);
    this.#inFlight.set(key, digest);
    return this.#perform(caller, call);
  }

  /** The tickets that carry `key`, oldest first. Throws 405 `TICKET_LOOKUP_UNSUPPORTED` in mode opaque. */
  async lookUp(mode: SinkMode, key: string): Promise<readonly Ticket[]> {
    if (mode === "opaque") {
      throw new TicketError(
        "expected a mode that keeps references, but opaque keeps none; a person must look",
        { code: "TICKET_LOOKUP_UNSUPPORTED", status: 405 },
      );
    }
    await this.#books.recordLookup(mode, key);
    return this.#books.findTickets(mode, key).map(({ ticket }) => ticket);
  }

  async #perform(caller: Caller, call: CreateCall): Promise<CreateEnd> {
    const passing = { mode: caller.mode, key: nameOf(caller), isClientGone: call.isClientGone };
    let ticket: Ticket;
    try {
      if ((await this.#holds.pass("before-effect", passing)) === "drop") {
        await this.#books.recordDrop(caller);
        return { kind: "dropped" };
      }
      ticket = await this.#books.recordTicket(caller, call.request);
    } finally {
      // From here on the ticket answers for the key, also while the caller is held after the effect.
      if (caller.mode === "idempotent" && caller.key !== undefined) {
        this.#inFlight.delete(caller.key);
      }
    }
    if ((await this.#holds.pass("after-effect", passing)) === "drop") return { kind: "dropped" };
    return { kind: "ticket", ticket, replayed: false };
  }
}

function keyReused(knownDigest: string, digest: string): TicketError {
  return new TicketError(
    "expected the request that this Idempotency-Key was first sent with, but it is another; " +
      "send another request with another key",
    {
      code: "TICKET_KEY_REUSED",
      status: 422,
      details: { expectedDigest: knownDigest, actualDigest: digest },
    },
  );
}

function keyInFlight(key: string): TicketError {
  return new TicketError(
    "expected no open call with this Idempotency-Key, but one is under way; " +
      "send the same call again in a moment",
    { code: "TICKET_KEY_IN_FLIGHT", status: 409, details: { key } },
  );
}

import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type BookRecord, formatRecord, parseRecord, type TicketRecord } from "./book-record.js";
import { type Journal, openJournal } from "./journal.js";
import type { BooksSummary, SinkMode, Tally, Ticket, TicketRequest } from "./wire.js";

/** Who calls: what the books count a call by. */
export interface Caller {
  readonly mode: SinkMode;
  /** The caller's key; absent in mode opaque, which keeps nothing about keys. */
  readonly key: string | undefined;
  readonly title: string;
}

type MutableTally = { -readonly [Field in keyof Tally]: Tally[Field] };

const tallyField = {
  call: "calls",
  ticket: "effects",
  lookup: "lookups",
  drop: "dropped",
} as const satisfies Record<BookRecord["kind"], keyof Tally>;

/**
 * The durable books of the service: each method that records resolves when the record is on disk,
 * and only then is it counted and found.
 */
export class Books {
  readonly #journal: Journal;
  readonly #records: BookRecord[] = [];
  /** Tickets by mode and key, oldest first; only those with a key. */
  readonly #byReference = new Map<string, TicketRecord[]>();
  #lastLine = 0;
  #lastTicket = 0;

  constructor(journal: Journal, lines: readonly string[]) {
    this.#journal = journal;
    for (const line of lines) {
      this.#lastLine += 1;
      this.#apply(parseRecord(this.#lastLine, line));
    }
    this.#lastTicket = this.#records.filter(({ kind }) => kind === "ticket").length;
  }

  /** Records that a create call arrived. */
  recordCall(caller: Caller): Promise<void> {
    return this.#append({ kind: "call", mode: caller.mode, name: nameOf(caller) });
  }

  /** Records that a call was dropped before its effect. */
  recordDrop(caller: Caller): Promise<void> {
    return this.#append({ kind: "drop", mode: caller.mode, name: nameOf(caller) });
  }

  /** Records a look-up of `key`. */
  recordLookup(mode: SinkMode, key: string): Promise<void> {
    return this.#append({ kind: "lookup", mode, name: key });
  }

  /** Makes the ticket: the effect of the service. */
  async recordTicket(caller: Caller, request: TicketRequest): Promise<Ticket> {
    this.#lastTicket += 1;
    const ticket: Ticket = {
      id: `T-${this.#lastTicket}`,
      mode: caller.mode,
      ...(caller.key === undefined ? {} : { reference: caller.key }),
      createdAt: new Date().toISOString(),
      ...request,
    };
    const digest = digestRequest(request);
    const name = nameOf(caller);
    await this.#append({ kind: "ticket", mode: caller.mode, name, digest, ticket });
    return ticket;
  }

  /** The tickets of `key` in `mode`, oldest first, each with its request's digest. */
  findTickets(mode: SinkMode, key: string): readonly TicketRecord[] {
    return this.#byReference.get(referenceOf(mode, key)) ?? [];
  }

  /** Counts everything, or what happened in one mode. */
  summarize(mode?: SinkMode): BooksSummary {
    const total = emptyTally();
    const byKey = new Map<string, MutableTally>();
    const tickets: Ticket[] = [];
    for (const record of this.#records) {
      if (mode !== undefined && record.mode !== mode) continue;
      const tally = byKey.get(record.name) ?? emptyTally();
      byKey.set(record.name, tally);
      tally[tallyField[record.kind]] += 1;
      total[tallyField[record.kind]] += 1;
      if (record.kind === "ticket") tickets.push(record.ticket);
    }
    return { ...total, byKey: Object.fromEntries(byKey), tickets };
  }

  /** Waits for what is being written, then closes. Later records are refused. */
  close(): Promise<void> {
    return this.#journal.close();
  }

  async #append(record: BookRecord): Promise<void> {
    this.#lastLine += 1;
    await this.#journal.append(formatRecord(this.#lastLine, record));
    this.#apply(record);
  }

  #apply(record: BookRecord): void {
    this.#records.push(record);
    if (record.kind !== "ticket" || record.ticket.reference === undefined) return;
    const reference = referenceOf(record.mode, record.ticket.reference);
    const found = this.#byReference.get(reference);
    if (found === undefined) this.#byReference.set(reference, [record]);
    else found.push(record);
  }
}

/** What {@link openBooks} gives. */
export interface OpenedBooks {
  readonly books: Books;
  /** Bytes of an unfinished last line that were dropped; 0 after an orderly end. */
  readonly tornBytes: number;
}

/**
 * Opens the books in the folder `dir` (made if absent), file `books.jsonl`. The caller holds the
 * folder's lock. Throws `TICKET_BOOKS_DAMAGED` when a finished line is not what the service wrote.
 */
export async function openBooks(dir: string): Promise<OpenedBooks> {
  await mkdir(dir, { recursive: true });
  const { journal, lines, tornBytes } = await openJournal(join(dir, "books.jsonl"));
  try {
    return { books: new Books(journal, lines), tornBytes };
  } catch (error) {
    await journal.close();
    throw error;
  }
}

/** SHA-256, in hex, of what a request is; the order of fields and white space play no part. */
export function digestRequest(request: TicketRequest): string {
  const { title, body, labels } = request;
  const parts = labels === undefined ? [title, body] : [title, body, labels];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** What a call is counted by: its key, or its title when it has none. */
export function nameOf(caller: Caller): string {
  return caller.key ?? caller.title;
}

function referenceOf(mode: SinkMode, key: string): string {
  return `${mode} ${key}`;
}

function emptyTally(): MutableTally {
  return { calls: 0, effects: 0, lookups: 0, dropped: 0 };
}

import { TicketError } from "./ticket-error.js";
import { isObject, parseTicket, readMode, type SinkMode, type Ticket } from "./wire.js";

/** A create call arrived. `name` is what it is counted by: its key, or its title when it has none. */
export interface CallRecord {
  readonly kind: "call";
  readonly mode: SinkMode;
  readonly name: string;
}

/** A look-up was answered. */
export interface LookupRecord {
  readonly kind: "lookup";
  readonly mode: SinkMode;
  readonly name: string;
}

/** A test hook dropped a call before its effect. */
export interface DropRecord {
  readonly kind: "drop";
  readonly mode: SinkMode;
  readonly name: string;
}

/** A ticket was made: the effect. `digest` is that of the request, to know the same request again. */
export interface TicketRecord {
  readonly kind: "ticket";
  readonly mode: SinkMode;
  readonly name: string;
  readonly digest: string;
  readonly ticket: Ticket;
}

/** One line of the books. */
export type BookRecord = CallRecord | LookupRecord | DropRecord | TicketRecord;

/** Writes line number `n`, counted from 1 without gaps, so that a lost or foreign line is seen at the next start. */
export function formatRecord(n: number, record: BookRecord): string {
  return JSON.stringify({ n, ...record });
}

/** Reads line number `n`. Throws `TICKET_BOOKS_DAMAGED` naming the line when it is not exactly that. */
export function parseRecord(n: number, line: string): BookRecord {
  try {
    const value: unknown = JSON.parse(line);
    const record = isObject(value) && value["n"] === n ? readRecord(value) : undefined;
    if (record !== undefined) return record;
  } catch (cause) {
    throw damagedLine(n, cause);
  }
  throw damagedLine(n);
}

function readRecord(value: Readonly<Record<string, unknown>>): BookRecord | undefined {
  const { kind, name, digest } = value;
  const mode = readMode(value["mode"]);
  if (mode === undefined || typeof name !== "string") return undefined;
  switch (kind) {
    case "call":
    case "lookup":
    case "drop":
      return { kind, mode, name };
    case "ticket":
      if (typeof digest !== "string") return undefined;
      return { kind, mode, name, digest, ticket: parseTicket(value["ticket"]) };
    default:
      return undefined;
  }
}

function damagedLine(n: number, cause?: unknown): TicketError {
  return new TicketError(
    `expected line ${n} of the books to be record ${n}, but it is not; ` +
      "restore the books or start with another --dir",
    { code: "TICKET_BOOKS_DAMAGED", status: 500, details: { line: n }, cause },
  );
}

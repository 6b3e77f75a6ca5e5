import { invalidField } from "./ticket-error.js";

/**
 * How much help the service gives a caller that does not know whether its call arrived:
 * `idempotent` performs a key once, `reconcilable` can be asked for a reference, `opaque` does neither.
 */
export type SinkMode = "idempotent" | "reconcilable" | "opaque";

/** Every mode, in the order in which the docs name them. */
export const sinkModes: readonly SinkMode[] = ["idempotent", "reconcilable", "opaque"];

/** Bounds of every field. Characters are UTF-16 code units. */
export const bounds = {
  /** Body of one HTTP request, in bytes. */
  requestBytesMax: 65_536,
  titleCharsMax: 200,
  labelsMax: 20,
  labelCharsMax: 50,
  /** An Idempotency-Key or reference, as UTF-8 bytes. */
  keyBytesMax: 1_024,
  /** Longest wait of `GET /held`, in milliseconds. */
  waitMsMax: 60_000,
} as const;

/** What a caller asks for. Two requests are the same when all three fields are; an absent `labels` differs from an empty one. */
export interface TicketRequest {
  /** One line, 1 to 200 characters. */
  readonly title: string;
  /** Free text; may be empty. Bounded by the size of the request. */
  readonly body: string;
  /** At most 20 words of at most 50 characters. */
  readonly labels?: readonly string[];
}

/** A ticket that exists: the effect. */
export interface Ticket extends TicketRequest {
  /** `T-1`, `T-2`, … in the order of creation. */
  readonly id: string;
  readonly mode: SinkMode;
  /** The caller's key. Absent when none was sent, and always in mode opaque. */
  readonly reference?: string;
  /** ISO 8601, by the clock of the service. */
  readonly createdAt: string;
}

/** What happened at the service, as counted in its durable books. */
export interface Tally {
  /** Well-formed create calls that arrived, whatever became of them. */
  readonly calls: number;
  /** Tickets made. */
  readonly effects: number;
  /** Look-ups answered. */
  readonly lookups: number;
  /** Calls among `calls` that a test hook dropped before their effect. */
  readonly dropped: number;
}

/** Answer of `GET /books`. */
export interface BooksSummary extends Tally {
  /** By key or reference; by title for calls without one and for mode opaque. */
  readonly byKey: Readonly<Record<string, Tally>>;
  /** Every ticket, oldest first. */
  readonly tickets: readonly Ticket[];
}

/** Where a test hook stops a call: just before its ticket is booked, or just after, before the answer. */
export type HoldPoint = "before-effect" | "after-effect";

/**
 * What becomes of a held call: `go` goes on (though its client may be gone); `drop` cuts the
 * connection, and before the effect also the effect, as if the request had been lost on its way.
 */
export type ReleaseAction = "go" | "drop";

/** Which create call the next hold stops: the first that matches every field given. */
export interface HoldRequest {
  readonly point: HoldPoint;
  readonly mode?: SinkMode;
  /** Key or reference; the title for mode opaque. */
  readonly key?: string;
}

/** A call that stands still at a hold. */
export interface HeldCall {
  readonly holdId: string;
  readonly point: HoldPoint;
  readonly mode: SinkMode;
  /** Key or reference; the title for calls without one. */
  readonly key: string;
  /** Whether the connection of the caller has closed meanwhile. */
  readonly clientGone: boolean;
}

/** Whether a value is a JSON object (not null, not an array). */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The mode that `value` names, or undefined. */
export function readMode(value: unknown): SinkMode | undefined {
  return sinkModes.find((mode) => mode === value);
}

/** The hold point that `value` names, or undefined. */
export function readPoint(value: unknown): HoldPoint | undefined {
  return value === "before-effect" || value === "after-effect" ? value : undefined;
}

/** Reads a ticket request. Throws 400 `TICKET_REQUEST_INVALID` for a missing, ill-typed, overlong or unknown field. */
export function parseTicketRequest(value: unknown): TicketRequest {
  if (!isObject(value)) throw invalidField("the body", "a JSON object");
  for (const field of Object.keys(value)) {
    if (field !== "title" && field !== "body" && field !== "labels") {
      throw invalidField(field, "absent (known fields: title, body, labels)");
    }
  }
  return parseContent(value);
}

/** Reads a ticket as the service stores and sends it. Throws like {@link parseTicketRequest}. */
export function parseTicket(value: unknown): Ticket {
  if (!isObject(value)) throw invalidField("ticket", "a JSON object");
  const mode = readMode(value["mode"]);
  const { id, reference, createdAt } = value;
  if (typeof id !== "string") throw invalidField("ticket.id", "a string");
  if (mode === undefined) throw invalidField("ticket.mode", `one of ${sinkModes.join(", ")}`);
  if (typeof createdAt !== "string") throw invalidField("ticket.createdAt", "a string");
  const ticket = { id, mode, createdAt, ...parseContent(value) };
  if (reference === undefined) return ticket;
  if (typeof reference !== "string") throw invalidField("ticket.reference", "a string");
  return { ...ticket, reference };
}

function parseContent(value: Readonly<Record<string, unknown>>): TicketRequest {
  const { title, body, labels } = value;
  if (typeof title !== "string" || title.length === 0 || title.length > bounds.titleCharsMax) {
    throw invalidField("title", `a string of 1 to ${bounds.titleCharsMax} characters`);
  }
  if (typeof body !== "string") throw invalidField("body", "a string");
  if (labels === undefined) return { title, body };
  if (!isLabels(labels)) {
    const rule = `at most ${bounds.labelsMax} strings of at most ${bounds.labelCharsMax} characters`;
    throw invalidField("labels", rule);
  }
  return { title, body, labels };
}

function isLabels(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length <= bounds.labelsMax &&
    value.every((label) => typeof label === "string" && label.length <= bounds.labelCharsMax)
  );
}

import {
  type BooksSummary,
  type HeldCall,
  isObject,
  parseTicket,
  readMode,
  readPoint,
  type Tally,
  type Ticket,
} from "./wire.js";

/**
 * How a create call ended, in the terms of a Pawl operation. `created` is a result; `refused` is
 * `Refused` (the sink said no, nothing happened); `not-sent` is `NotSent` (it provably never left).
 * `in-flight` (another call with the key is under way) and `unknown` are in doubt: throw them as plain errors.
 */
export type CreateOutcome =
  | { readonly kind: "created"; readonly ticket: Ticket; readonly replayed: boolean }
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  | { readonly kind: "in-flight"; readonly message: string }
  | { readonly kind: "not-sent"; readonly message: string }
  | { readonly kind: "unknown"; readonly message: string };

/** How a look-up ended. `matches` above 1 means that the effect happened more than once. */
export type FindOutcome =
  | { readonly kind: "found"; readonly ticket: Ticket; readonly matches: number }
  | { readonly kind: "absent" }
  | { readonly kind: "unknown"; readonly message: string };

/** Node's codes for a connection that never came to be, so that no byte of the request left. */
const notConnectedCodes = new Set(["ECONNREFUSED", "ENOTFOUND", "UND_ERR_CONNECT_TIMEOUT"]);

/** Reads the answer of a create call. What is not exactly the service's answer is `unknown`. */
export function readCreateAnswer(status: number, body: unknown): CreateOutcome {
  if (status === 200 || status === 201) {
    const answer = readObject(body);
    return {
      kind: "created",
      ticket: parseTicket(answer["ticket"]),
      replayed: answer["replayed"] === true,
    };
  }
  const { code, message } = readErrorBody(body);
  if (code === "TICKET_KEY_IN_FLIGHT") return { kind: "in-flight", message };
  if (status >= 400 && status < 500) return { kind: "refused", code, message };
  return { kind: "unknown", message: `${status} ${code}: ${message}` };
}

/** Reads the answer of a look-up. Only the service's own word for it counts as `absent`. */
export function readFindAnswer(status: number, body: unknown): FindOutcome {
  if (status === 200) {
    const answer = readObject(body);
    const ticket = parseTicket(answer["ticket"]);
    return { kind: "found", ticket, matches: readCount(answer, "matches") };
  }
  const { code, message } = readErrorBody(body);
  if (status === 404 && code === "TICKET_ABSENT") return { kind: "absent" };
  return { kind: "unknown", message: `${status} ${code}: ${message}` };
}

/** What a thrown `fetch` proves about the call: that it never left, or nothing. */
export function readFetchFailure(error: unknown): {
  readonly kind: "not-sent" | "unknown";
  readonly message: string;
} {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const message = cause instanceof Error ? `${error}: ${cause.message}` : String(error);
  return { kind: notConnectedCodes.has(code) ? "not-sent" : "unknown", message };
}

/** Reads `{ error: { code, message } }`. Throws when it is not the ticket service that speaks. */
export function readErrorBody(body: unknown): { readonly code: string; readonly message: string } {
  const error = readObject(readObject(body)["error"]);
  const code = readText(error, "code");
  if (!code.startsWith("TICKET_")) throw unexpected("an error code of the ticket service");
  return { code, message: readText(error, "message") };
}

/** Reads the answer of `GET /books`. */
export function readBooks(body: unknown): BooksSummary {
  const answer = readObject(body);
  const { tickets } = answer;
  if (!Array.isArray(tickets)) throw unexpected("tickets");
  const byKey = Object.entries(readObject(answer["byKey"])).map(([key, tally]): [string, Tally] => [
    key,
    readTally(tally),
  ]);
  return {
    ...readTally(body),
    byKey: Object.fromEntries(byKey),
    tickets: tickets.map(parseTicket),
  };
}

/** Reads the answer of `GET /held`. */
export function readHeldCalls(body: unknown): readonly HeldCall[] {
  const { held } = readObject(body);
  if (!Array.isArray(held)) throw unexpected("held");
  return held.map(readHeldCall);
}

/** Reads a number that counts something. */
export function readCount(body: unknown, field: string): number {
  const value = readObject(body)[field];
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw unexpected(field);
  return value;
}

/** Reads a string. */
export function readText(body: unknown, field: string): string {
  const value = readObject(body)[field];
  if (typeof value !== "string") throw unexpected(field);
  return value;
}

function readTally(value: unknown): Tally {
  return {
    calls: readCount(value, "calls"),
    effects: readCount(value, "effects"),
    lookups: readCount(value, "lookups"),
    dropped: readCount(value, "dropped"),
  };
}

function readHeldCall(value: unknown): HeldCall {
  const call = readObject(value);
  const mode = readMode(call["mode"]);
  const point = readPoint(call["point"]);
  if (mode === undefined || point === undefined) throw unexpected("held call");
  return {
    holdId: readText(call, "holdId"),
    point,
    mode,
    key: readText(call, "key"),
    clientGone: call["clientGone"] === true,
  };
}

function readObject(value: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw unexpected("a JSON object");
  return value;
}

function unexpected(what: string): TypeError {
  return new TypeError(
    `expected ${what} as the ticket service documents it, but the answer has none; check the address`,
  );
}

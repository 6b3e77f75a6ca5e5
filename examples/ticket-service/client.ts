import {
  type CreateOutcome,
  type FindOutcome,
  readBooks,
  readCount,
  readCreateAnswer,
  readErrorBody,
  readFetchFailure,
  readFindAnswer,
  readHeldCalls,
  readText,
} from "./client-answers.js";
import type {
  BooksSummary,
  HeldCall,
  HoldRequest,
  ReleaseAction,
  SinkMode,
  TicketRequest,
} from "./wire.js";

export type { CreateOutcome, FindOutcome } from "./client-answers.js";
export type {
  BooksSummary,
  HeldCall,
  HoldPoint,
  HoldRequest,
  ReleaseAction,
  SinkMode,
  Tally,
  Ticket,
  TicketRequest,
} from "./wire.js";

/** A create call: where, under which key, what. */
export interface CreateTicketCall {
  readonly mode: SinkMode;
  /** Sent as Idempotency-Key: 1 to 1,024 bytes of UTF-8, no control characters, no space at the ends. */
  readonly key: string;
  readonly ticket: TicketRequest;
}

/** Which hold {@link TicketClient.held} and {@link TicketClient.release} mean; absent: all. */
export interface HoldSelection {
  readonly holdId?: string;
}

/**
 * A small client of the ticket service. The calls that an operation makes return outcomes and never
 * throw; books and test hooks throw an `Error` when the service does not answer as documented.
 */
export interface TicketClient {
  createTicket(call: CreateTicketCall, signal?: AbortSignal): Promise<CreateOutcome>;
  findTicket(mode: SinkMode, key: string, signal?: AbortSignal): Promise<FindOutcome>;
  /** What happened, in all modes or in one. */
  books(mode?: SinkMode): Promise<BooksSummary>;
  /** Test hook: the next matching create call stops. Resolves to the hold's id. */
  hold(request: HoldRequest): Promise<string>;
  /** Test hook: forgets the holds that no call has met; resolves to how many. */
  disarm(): Promise<number>;
  /** Test hook: waits up to `waitMs` (default 10,000, at most 60,000) for a call that stands still; empty when none came. */
  held(waitMs?: number, selection?: HoldSelection): Promise<readonly HeldCall[]>;
  /** Test hook: lets held calls go on or drops them; resolves to how many. */
  release(action: ReleaseAction, selection?: HoldSelection): Promise<number>;
}

/** Makes a client for the service at `baseUrl`, such as `http://127.0.0.1:7310`. Connects on use only. */
export function ticketClient(baseUrl: string): TicketClient {
  const at = (path: string): string => new URL(path, baseUrl).href;
  return {
    createTicket: (call, signal) => createTicket(at(`/${call.mode}/tickets`), call, signal),
    findTicket: (mode, key, signal) =>
      findTicket(at(`/${mode}/tickets?reference=${encodeURIComponent(key)}`), signal),
    books: async (mode) =>
      readBooks(await ask(at(mode === undefined ? "/books" : `/${mode}/books`))),
    hold: async (request) => readText(await ask(at("/hold"), postJson(request)), "holdId"),
    disarm: async () => readCount(await ask(at("/hold"), { method: "DELETE" }), "disarmed"),
    held: async (waitMs = 10_000, selection = {}) => {
      const query = new URLSearchParams({ waitMs: String(waitMs), ...selection });
      return readHeldCalls(await ask(at(`/held?${query}`)));
    },
    release: async (action, selection = {}) =>
      readCount(await ask(at("/release"), postJson({ action, ...selection })), "released"),
  };
}

async function createTicket(
  url: string,
  { key, ticket }: CreateTicketCall,
  signal?: AbortSignal,
): Promise<CreateOutcome> {
  if (!isSendableKey(key)) {
    return { kind: "not-sent", message: `expected a key that a header can carry, but got ${key}` };
  }
  if (signal?.aborted) return { kind: "not-sent", message: "the call was over before it began" };
  try {
    const response = await fetch(url, {
      ...postJson(ticket, { "idempotency-key": Buffer.from(key).toString("latin1") }),
      ...(signal === undefined ? {} : { signal }),
    });
    return readCreateAnswer(response.status, await response.json());
  } catch (error) {
    return readFetchFailure(error);
  }
}

async function findTicket(url: string, signal?: AbortSignal): Promise<FindOutcome> {
  try {
    const response = await fetch(url, signal === undefined ? {} : { signal });
    return readFindAnswer(response.status, await response.json());
  } catch (error) {
    return { kind: "unknown", message: readFetchFailure(error).message };
  }
}

async function ask(url: string, init: RequestInit = {}): Promise<unknown> {
  const response = await fetch(url, init);
  const body: unknown = await response.json();
  if (response.ok) return body;
  const { code, message } = readErrorBody(body);
  throw new Error(`${code}: ${message}`);
}

function postJson(
  value: object,
  headers: Readonly<Record<string, string>> = {},
): { method: string; headers: Record<string, string>; body: string } {
  return {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(value),
  };
}

/** `fetch` would trim white space at the ends, and so send another key than the one asked for. */
function isSendableKey(key: string): boolean {
  const hasControl = [...key].some((character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x20 || code === 0x7f;
  });
  return key !== "" && key === key.trim() && Buffer.from(key).toString() === key && !hasControl;
}

import type { Books } from "./books.js";
import type { TicketDesk } from "./desk.js";
import type { Holds } from "./holds.js";
import { checkKey, type Exchange, readIdempotencyKey, readJson, sendJson } from "./http-io.js";
import { invalidField, TicketError } from "./ticket-error.js";
import {
  bounds,
  type HoldRequest,
  isObject,
  parseTicketRequest,
  type ReleaseAction,
  readMode,
  readPoint,
  type SinkMode,
  sinkModes,
} from "./wire.js";

/** What the routes act on. */
export interface RouteContext {
  readonly books: Books;
  readonly desk: TicketDesk;
  readonly holds: Holds;
  /** The mode of paths that name none. */
  readonly defaultMode: SinkMode;
}

type Handler = (context: RouteContext, exchange: Exchange, mode?: SinkMode) => Promise<void> | void;

/** Path (after an optional `/MODE`) → method → handler. */
const routes: Readonly<Record<string, Readonly<Record<string, Handler>>>> = {
  "/tickets": { POST: createTicket, GET: findTicket },
  "/books": { GET: showBooks },
  "/hold": { POST: armHold, DELETE: disarmHolds },
  "/held": { GET: listHeld },
  "/release": { POST: releaseHeld },
};

const modelessPaths = new Set(["/hold", "/held", "/release"]);

/** Finds and runs the handler. Throws 404 `TICKET_ROUTE_UNKNOWN`, 405 `TICKET_METHOD_UNKNOWN`, and what handlers throw. */
export async function route(context: RouteContext, exchange: Exchange): Promise<void> {
  const { mode, path } = splitPath(exchange.url.pathname);
  const methods = Object.hasOwn(routes, path) ? routes[path] : undefined;
  if (methods === undefined || (mode !== undefined && modelessPaths.has(path))) {
    throw new TicketError(
      `expected ${Object.keys(routes).join(", ")} (the first two also behind ` +
        `/${sinkModes.join(", /")}), but the path is ${exchange.url.pathname}`,
      { code: "TICKET_ROUTE_UNKNOWN", status: 404 },
    );
  }
  const method = exchange.request.method ?? "";
  const handler = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (handler === undefined) {
    const allowed = Object.keys(methods).join(", ");
    exchange.response.setHeader("allow", allowed);
    throw new TicketError(`expected ${allowed} at ${path}, but the method is ${method}`, {
      code: "TICKET_METHOD_UNKNOWN",
      status: 405,
    });
  }
  await handler(context, exchange, mode);
}

function splitPath(pathname: string): { mode: SinkMode | undefined; path: string } {
  const mode = sinkModes.find((name) => pathname.startsWith(`/${name}/`));
  return { mode, path: mode === undefined ? pathname : pathname.slice(mode.length + 1) };
}

async function createTicket(
  { desk, defaultMode }: RouteContext,
  { request, response }: Exchange,
  mode?: SinkMode,
): Promise<void> {
  const key = readIdempotencyKey(request);
  const ticketRequest = parseTicketRequest(await readJson(request));
  const isClientGone = (): boolean => response.destroyed;
  const end = await desk.create({
    mode: mode ?? defaultMode,
    key,
    request: ticketRequest,
    isClientGone,
  });
  if (end.kind === "dropped") response.destroy();
  else sendJson(response, end.replayed ? 200 : 201, { ticket: end.ticket, replayed: end.replayed });
}

async function findTicket(
  { desk, defaultMode }: RouteContext,
  { url, response }: Exchange,
  mode?: SinkMode,
): Promise<void> {
  const reference = url.searchParams.get("reference");
  if (reference === null) throw invalidField("reference", "given as ?reference=KEY");
  const tickets = await desk.lookUp(mode ?? defaultMode, checkKey(reference));
  const [ticket] = tickets;
  if (ticket === undefined) {
    throw new TicketError(
      "expected a ticket with this reference, but there is none; a call still under way may make it",
      { code: "TICKET_ABSENT", status: 404, details: { reference } },
    );
  }
  sendJson(response, 200, { ticket, matches: tickets.length });
}

function showBooks({ books }: RouteContext, { response }: Exchange, mode?: SinkMode): void {
  sendJson(response, 200, books.summarize(mode));
}

async function armHold({ holds }: RouteContext, { request, response }: Exchange): Promise<void> {
  const holdId = holds.arm(parseHoldRequest(await readJson(request)));
  sendJson(response, 200, { holdId });
}

function disarmHolds({ holds }: RouteContext, { response }: Exchange): void {
  sendJson(response, 200, { disarmed: holds.disarm() });
}

async function listHeld({ holds }: RouteContext, { url, response }: Exchange): Promise<void> {
  const waitText = url.searchParams.get("waitMs") ?? "0";
  const waitMs = Number(waitText);
  if (!/^\d{1,6}$/.test(waitText) || waitMs > bounds.waitMsMax) {
    throw invalidField("waitMs", `a whole number from 0 to ${bounds.waitMsMax}`);
  }
  const held = await holds.waitUntilHeld(waitMs, url.searchParams.get("holdId") ?? undefined);
  sendJson(response, 200, { held });
}

async function releaseHeld(
  { holds }: RouteContext,
  { request, response }: Exchange,
): Promise<void> {
  const { action, holdId } = parseRelease(await readJson(request));
  sendJson(response, 200, { released: holds.release(action, holdId) });
}

function parseHoldRequest(value: unknown): HoldRequest {
  if (!isObject(value)) throw invalidField("the body", "a JSON object");
  const point = readPoint(value["point"]);
  if (point === undefined) throw invalidField("point", "before-effect or after-effect");
  const { mode: modeName, key } = value;
  const mode = readMode(modeName);
  if (modeName !== undefined && mode === undefined) {
    throw invalidField("mode", `absent or one of ${sinkModes.join(", ")}`);
  }
  if (key !== undefined && typeof key !== "string") throw invalidField("key", "absent or a string");
  return {
    point,
    ...(mode === undefined ? {} : { mode }),
    ...(key === undefined ? {} : { key }),
  };
}

function parseRelease(value: unknown): { action: ReleaseAction; holdId?: string } {
  if (!isObject(value)) throw invalidField("the body", "a JSON object");
  const { action, holdId } = value;
  if (action !== "go" && action !== "drop") throw invalidField("action", "go or drop");
  if (holdId === undefined) return { action };
  if (typeof holdId !== "string") throw invalidField("holdId", "absent or a string");
  return { action, holdId };
}

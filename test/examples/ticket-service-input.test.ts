import { expect, test } from "vitest";
import { create, spawnTicketProcess, tally, useTicketFolder } from "./ticket-process.js";

const { start } = useTicketFolder();

interface BadCall {
  readonly what: string;
  /** Method and path. */
  readonly call: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Expected status and code. */
  readonly answer: string;
}

const json = { "content-type": "application/json" };

const badCalls: readonly BadCall[] = [
  { what: "no JSON", call: "POST /tickets", body: "{", answer: "400 TICKET_REQUEST_INVALID" },
  { what: "an array", call: "POST /tickets", body: "[]", answer: "400 TICKET_REQUEST_INVALID" },
  {
    what: "no title",
    call: "POST /tickets",
    body: '{"body":""}',
    answer: "400 TICKET_REQUEST_INVALID",
  },
  {
    what: "null labels",
    call: "POST /tickets",
    body: '{"title":"t","body":"","labels":null}',
    answer: "400 TICKET_REQUEST_INVALID",
  },
  {
    what: "an unknown field",
    call: "POST /tickets",
    body: '{"title":"t","body":"","x":1}',
    answer: "400 TICKET_REQUEST_INVALID",
  },
  {
    what: "an empty key",
    call: "POST /tickets",
    headers: { "idempotency-key": "" },
    answer: "400 TICKET_KEY_INVALID",
  },
  {
    what: "an overlong key",
    call: "POST /tickets",
    headers: { "idempotency-key": "k".repeat(1_025) },
    answer: "400 TICKET_KEY_INVALID",
  },
  {
    what: "a key that is not UTF-8",
    call: "POST /tickets",
    headers: { "idempotency-key": "\xff" },
    answer: "400 TICKET_KEY_INVALID",
  },
  {
    what: "an overlong body",
    call: "POST /tickets",
    body: JSON.stringify({ title: "t", body: "x".repeat(65_536) }),
    answer: "413 TICKET_REQUEST_TOO_LARGE",
  },
  {
    what: "a body that a web page may send anywhere",
    call: "POST /tickets",
    headers: { "content-type": "text/plain" },
    answer: "415 TICKET_CONTENT_TYPE",
  },
  { what: "no reference", call: "GET /tickets", answer: "400 TICKET_REQUEST_INVALID" },
  { what: "an unknown path", call: "GET /toString", answer: "404 TICKET_ROUTE_UNKNOWN" },
  { what: "a hook behind a mode", call: "GET /opaque/held", answer: "404 TICKET_ROUTE_UNKNOWN" },
  { what: "an unknown method", call: "PUT /books", answer: "405 TICKET_METHOD_UNKNOWN" },
  {
    what: "an unknown hold point",
    call: "POST /hold",
    body: '{"point":"now"}',
    answer: "400 TICKET_REQUEST_INVALID",
  },
  {
    what: "an unknown release",
    call: "POST /release",
    body: '{"action":"maybe"}',
    answer: "400 TICKET_REQUEST_INVALID",
  },
];

test("a bad call is refused with its status and code, and not booked", async () => {
  const service = await start();
  for (const { what, call, headers, body, answer } of badCalls) {
    const [method = "", path = ""] = call.split(" ");
    const response = await fetch(`${service.baseUrl}${path}`, {
      method,
      ...(method === "GET" ? {} : { headers: { ...json, ...headers }, body: body ?? "{}" }),
    });
    const refusal: unknown = await response.json();
    const [status, code] = answer.split(" ");
    expect({ what, status: String(response.status), refusal }).toMatchObject({
      what,
      status,
      refusal: { error: { code } },
    });
  }
  expect(await service.client.books()).toMatchObject(tally(0, 0));
});

test.each([
  [["--port", "0"], "--dir"],
  [["--dir", "books"], "--port"],
  [["--dir", "books", "--port", "65536"], "--port"],
  [["--dir", "books", "--port", "0", "--mode", "lucky"], "--mode"],
])("arguments %j", async (args, field) => {
  const { code, stderr } = await spawnTicketProcess(args).ended;
  expect(code).toBe(1);
  expect(stderr).toContain(`TICKET_ARGUMENT: expected ${field}`);
});

test("a key that no header carries unchanged is not sent", async () => {
  const service = await start();
  for (const key of ["", " a", "a\n", "a\u0000b", "\ud800"]) {
    expect(await create(service, "idempotent", key)).toMatchObject({ kind: "not-sent" });
  }
  expect(await service.client.books()).toMatchObject(tally(0, 0));
});

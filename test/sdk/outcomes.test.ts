import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { fetchOutcome, httpOutcome, NotSent, OutcomeUnknown, Refused } from "@pawl/sdk";
import { expect, test } from "vitest";

test.each([200, 201, 204])("HTTP %d happened", (status) => {
  expect(httpOutcome(new Response(null, { status }))).toBeUndefined();
});

test.each([400, 401, 403, 404, 410, 422])("HTTP %d was refused", (status) => {
  expect(httpOutcome(new Response(null, { status }))).toBeInstanceOf(Refused);
  expect(httpOutcome(new Response(null, { status }))).toMatchObject({ sinkCode: `HTTP_${status}` });
});

test.each([408, 409, 425, 500, 502, 503, 504, 301, 307])("after HTTP %d nobody knows", (status) => {
  expect(httpOutcome(new Response(null, { status }))).toBeInstanceOf(OutcomeUnknown);
});

test("HTTP 429 was turned away, and says when to come again", () => {
  const outcome = httpOutcome(new Response(null, { status: 429, headers: { "retry-after": "7" } }));
  expect(outcome).toBeInstanceOf(NotSent);
  expect(outcome).toMatchObject({ retryAfterMs: 7_000 });
});

test("503 counts as turned away only when the caller knows that of the sink", () => {
  const response = new Response(null, { status: 503, headers: { "retry-after": "2" } });
  expect(httpOutcome(response)).toMatchObject({ name: "OutcomeUnknown", retryAfterMs: 2_000 });
  expect(httpOutcome(response, { notProcessed: [429, 503] })).toMatchObject({
    name: "NotSent",
    retryAfterMs: 2_000,
  });
});

test("a date in Retry-After counts from now, and never backwards", () => {
  const past = new Response(null, {
    status: 429,
    headers: { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" },
  });
  expect(httpOutcome(past)).toMatchObject({ retryAfterMs: 0 });
  const odd = new Response(null, { status: 429, headers: { "retry-after": "soon" } });
  expect(httpOutcome(odd)).toMatchObject({ retryAfterMs: undefined });
});

test("a refused connection never left", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const error = await fetch(`http://127.0.0.1:${port}`).catch((thrown: unknown) => thrown);
  expect(fetchOutcome(error)).toBeInstanceOf(NotSent);
});

test("an unknown name never left", async () => {
  const error = await fetch("http://nowhere.invalid").catch((thrown: unknown) => thrown);
  expect(fetchOutcome(error)).toBeInstanceOf(NotSent);
});

test("a connection that is reset while the request is on its way may have arrived", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", () => socket.resetAndDestroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const error = await fetch(`http://127.0.0.1:${port}`, { method: "POST", body: "x" }).catch(
    (thrown: unknown) => thrown,
  );
  await new Promise((resolve) => server.close(resolve));
  expect(fetchOutcome(error)).toBeInstanceOf(OutcomeUnknown);
});

test.each<unknown>(["a text", new Error("odd"), new DOMException("gone", "AbortError"), undefined])(
  "%o says nothing about arrival",
  (thrown) => {
    expect(fetchOutcome(thrown)).toBeInstanceOf(OutcomeUnknown);
  },
);

test("one late failure among several addresses is enough to doubt", () => {
  const early = Object.assign(new Error("refused"), { code: "ECONNREFUSED", syscall: "connect" });
  const late = Object.assign(new Error("reset"), { code: "ECONNRESET", syscall: "read" });
  expect(
    fetchOutcome(new TypeError("fetch failed", { cause: new AggregateError([early, early]) })),
  ).toBeInstanceOf(NotSent);
  expect(
    fetchOutcome(new TypeError("fetch failed", { cause: new AggregateError([early, late]) })),
  ).toBeInstanceOf(OutcomeUnknown);
});

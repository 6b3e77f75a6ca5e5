import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { create, tally, ticketOne, useTicketFolder } from "./ticket-process.js";

const { start, dir } = useTicketFolder();

test("idempotent: performs a key once and answers the same ticket again", async () => {
  const service = await start();
  const first = await create(service, "idempotent", "run-1/ticket");
  const second = await create(service, "idempotent", "run-1/ticket");

  const ticket = { ...ticketOne, mode: "idempotent", reference: "run-1/ticket" };
  expect(first).toEqual({ kind: "created", ticket, replayed: false });
  expect(second).toEqual({ kind: "created", ticket, replayed: true });
  expect(await service.client.books()).toEqual({
    ...tally(2, 1),
    byKey: { "run-1/ticket": tally(2, 1) },
    tickets: [ticket],
  });
});

test("idempotent: refuses another request under the same key, with both digests", async () => {
  const service = await start();
  await create(service, "idempotent", "k");
  const response = await fetch(`${service.baseUrl}/idempotent/tickets`, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": "k" },
    body: JSON.stringify({ title: "Disk full on db-2", body: "Another text." }),
  });

  expect(response.status).toBe(422);
  // SHA-256 of the JSON arrays ["Disk full on db-2","See the incident report."] and […,"Another text."].
  expect(await response.json()).toMatchObject({
    error: {
      code: "TICKET_KEY_REUSED",
      expectedDigest: "1b35d54f357828a480413669e2fc64cac5ae34a4c469c812f714931e86caf8ad",
      actualDigest: "01438bf0bbc73c3fb83a3bb70f0e16b0622702cfc4e2e03a6db2deca370ed166",
    },
  });
  expect(await service.client.books()).toMatchObject(tally(2, 1));
});

test("idempotent: takes the order of fields and white space for the same request", async () => {
  const service = await start();
  const send = async (body: string): Promise<number> => {
    const headers = { "content-type": "application/json", "idempotency-key": "k" };
    return (await fetch(`${service.baseUrl}/tickets`, { method: "POST", headers, body })).status;
  };

  expect(await send('{"title":"a","body":"b","labels":["x"]}')).toBe(201);
  expect(await send('{ "labels": ["x"], "body": "b", "title": "a" }')).toBe(200);
  expect(await send('{"title":"a","body":"b","labels":[]}')).toBe(422);
  expect(await send('{"title":"a","body":"b"}')).toBe(422);
});

test("idempotent: makes one ticket of many concurrent calls with one key", async () => {
  const service = await start();
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, () => create(service, "idempotent", "k")),
  );

  const made = outcomes.filter((outcome) => outcome.kind === "created" && !outcome.replayed);
  expect(made).toHaveLength(1);
  for (const outcome of outcomes) expect(["created", "in-flight"]).toContain(outcome.kind);
  expect(await service.client.books()).toMatchObject(tally(20, 1));
});

test("idempotent: answers 409 while the key's first call is under way, and only then", async () => {
  const service = await start();
  await service.client.hold({ mode: "idempotent", point: "before-effect" });
  const first = create(service, "idempotent", "k");
  await service.client.held();

  expect(await create(service, "idempotent", "k")).toMatchObject({ kind: "in-flight" });
  await service.client.release("go");
  expect(await first).toMatchObject({ kind: "created", replayed: false });
  expect(await create(service, "idempotent", "k")).toMatchObject({
    kind: "created",
    replayed: true,
  });
});

test("idempotent: carries keys of any script, and keeps those of Object.prototype apart", async () => {
  const service = await start();
  for (const key of ["störung/№ 7", "__proto__", "constructor"]) {
    await create(service, "idempotent", key);
    expect(await service.client.findTicket("idempotent", key)).toMatchObject({
      kind: "found",
      ticket: { reference: key },
    });
  }
  const { byKey } = await service.client.books();
  expect(Object.entries(byKey)).toEqual([
    ["störung/№ 7", tally(1, 1, 1)],
    ["__proto__", tally(1, 1, 1)],
    ["constructor", tally(1, 1, 1)],
  ]);
});

test("reconcilable: does not hold back a repeated key, but can be asked for it", async () => {
  const service = await start();
  expect(await service.client.findTicket("reconcilable", "k")).toEqual({ kind: "absent" });
  await create(service, "reconcilable", "k");
  await create(service, "reconcilable", "k");

  expect(await service.client.findTicket("reconcilable", "k")).toEqual({
    kind: "found",
    ticket: { ...ticketOne, mode: "reconcilable", reference: "k" },
    matches: 2,
  });
  expect((await service.client.books()).byKey).toEqual({ k: tally(2, 2, 2) });
});

test("opaque: keeps nothing about keys and cannot be asked", async () => {
  const service = await start("--mode", "opaque");
  await create(service, "opaque", "secret-key");

  expect(await service.client.findTicket("opaque", "secret-key")).toMatchObject({
    kind: "unknown",
    message: expect.stringContaining("405 TICKET_LOOKUP_UNSUPPORTED"),
  });
  expect(await service.client.books()).toEqual({
    ...tally(1, 1),
    byKey: { "Disk full on db-2": tally(1, 1) },
    tickets: [{ ...ticketOne, mode: "opaque" }],
  });
  expect(await readFile(join(dir(), "books.jsonl"), "utf8")).not.toContain("secret-key");
});

test("one service serves all three modes and counts each apart", async () => {
  const service = await start();
  for (const mode of ["idempotent", "reconcilable", "opaque"] as const) {
    await create(service, mode, "k");
    await create(service, mode, "k");
  }

  expect(await service.client.books("idempotent")).toMatchObject(tally(2, 1));
  expect(await service.client.books("reconcilable")).toMatchObject(tally(2, 2));
  expect(await service.client.books("opaque")).toMatchObject(tally(2, 2));
  expect(await service.client.books()).toMatchObject(tally(6, 5));
});

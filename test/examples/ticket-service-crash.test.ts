import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lockFolder } from "../../examples/ticket-service/folder-lock.js";
import { create, spawnTicketProcess, tally, useTicketFolder } from "./ticket-process.js";

const { start, dir } = useTicketFolder();

test("a SIGKILL between calls loses nothing that was answered", async () => {
  const first = await start();
  await create(first, "idempotent", "a");
  await create(first, "reconcilable", "b");
  await first.client.findTicket("reconcilable", "b");
  const before = await first.client.books();
  await first.kill("SIGKILL");

  const second = await start();
  expect(await second.client.books()).toEqual(before);
  expect(await create(second, "idempotent", "a")).toMatchObject({
    kind: "created",
    replayed: true,
    ticket: { id: "T-1" },
  });
  expect(await create(second, "idempotent", "c")).toMatchObject({ ticket: { id: "T-3" } });
});

test("a SIGKILL amid a stream of calls keeps every answered ticket, once", async () => {
  const first = await start();
  const answered: string[] = [];
  const work = Array.from({ length: 8 }, async (_, lane) => {
    for (let n = 0; ; n += 1) {
      const outcome = await create(first, "idempotent", `${lane}-${n}`);
      if (outcome.kind !== "created") return outcome.kind;
      answered.push(`${lane}-${n}`);
      if (answered.length === 60) await first.kill("SIGKILL");
    }
  });
  for (const end of await Promise.all(work)) expect(["unknown", "not-sent"]).toContain(end);
  expect(answered.length).toBeGreaterThanOrEqual(60);

  const second = await start();
  const { byKey } = await second.client.books();
  for (const key of answered) expect(byKey[key]).toEqual(tally(1, 1));
  for (const { effects } of Object.values(byKey)) expect(effects).toBeLessThanOrEqual(1);
});

test("a call that stood before its effect is booked as a call without effect", async () => {
  const first = await start();
  await first.client.hold({ point: "before-effect" });
  const call = create(first, "idempotent", "k");
  await first.client.held();
  await first.kill("SIGKILL");
  expect(await call).toMatchObject({ kind: "unknown" });

  const second = await start();
  expect((await second.client.books()).byKey).toEqual({ k: tally(1, 0) });
  expect(await create(second, "idempotent", "k")).toMatchObject({ replayed: false });
});

test("an unfinished last line is dropped, and writing goes on behind it", async () => {
  const first = await start();
  await create(first, "idempotent", "a");
  await first.kill("SIGKILL");
  await appendFile(join(dir(), "books.jsonl"), '{"n":3,"kind":"call","mode":"idemp');

  const second = await start();
  expect(await second.client.books()).toMatchObject(tally(1, 1));
  await create(second, "idempotent", "b");
  const end = await second.kill("SIGKILL");
  expect(end.stderr).toContain("dropped an unfinished last line of 34 bytes");

  const third = await start();
  expect((await third.client.books()).byKey).toEqual({ a: tally(1, 1), b: tally(1, 1) });
});

test.each([
  ["a line that is no JSON", "?\n", "line 1"],
  ["a line missing before it", '{"n":2,"kind":"call","mode":"opaque","name":"a"}\n', "line 1"],
  ["an unknown kind", '{"n":1,"kind":"gift","mode":"opaque","name":"a"}\n', "line 1"],
  ["bytes that are not UTF-8", Buffer.from([0xff, 0x0a]), "UTF-8"],
])("damage is refused by name: %s", async (_, content, place) => {
  await writeFile(join(dir(), "books.jsonl"), content);
  const { code, stderr } = await spawnTicketProcess(["--dir", dir(), "--port", "0"]).ended;

  expect(code).toBe(1);
  expect(stderr).toContain("TICKET_BOOKS_DAMAGED");
  expect(stderr).toContain(place);
});

test("a folder has one service; the next one starts when the first has ended", async () => {
  const first = await start();
  await expect(lockFolder(dir(), 0)).rejects.toMatchObject({ code: "TICKET_FOLDER_IN_USE" });

  const next = start();
  await first.kill("SIGTERM");
  expect(await create(await next, "idempotent", "k")).toMatchObject({ kind: "created" });
});

test.each(["SIGTERM", "SIGINT"] as const)("%s: held calls are cut, exit code 0", async (signal) => {
  const service = await start();
  await service.client.hold({ point: "before-effect" });
  const call = create(service, "idempotent", "k");
  await service.client.held();

  expect(await service.kill(signal)).toMatchObject({ code: 0, signal: null });
  expect(await call).toMatchObject({ kind: "unknown" });
  const next = await start();
  expect((await next.client.books()).byKey).toEqual({ k: tally(1, 0, 0, 1) });
});

test("--exit-with-parent: ends when its stdin closes, not by the terminal's SIGINT", async () => {
  const service = await start("--exit-with-parent");
  service.child.kill("SIGINT");
  expect(await create(service, "idempotent", "k")).toMatchObject({ kind: "created" });
  service.child.stdin?.end();
  expect(await service.ended).toMatchObject({ code: 0, signal: null });
});

test("without it, a closed stdin changes nothing", async () => {
  const service = await start();
  service.child.stdin?.end();
  expect(await create(service, "idempotent", "k")).toMatchObject({ kind: "created" });
});

test("a call to a service that is gone was never sent", async () => {
  const service = await start();
  await service.kill("SIGTERM");
  expect(await create(service, "idempotent", "k")).toMatchObject({ kind: "not-sent" });
});

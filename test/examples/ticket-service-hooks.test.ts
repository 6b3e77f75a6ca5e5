import { expect, test } from "vitest";
import { create, tally, useTicketFolder } from "./ticket-process.js";

const { start } = useTicketFolder();

test("a killed caller before the effect: drop leaves no effect", async () => {
  const service = await start();
  await service.client.hold({ mode: "reconcilable", point: "before-effect", key: "k" });
  const caller = new AbortController();
  const call = service.client.createTicket(
    { mode: "reconcilable", key: "k", ticket: { title: "t", body: "" } },
    caller.signal,
  );
  expect(await create(service, "reconcilable", "other")).toMatchObject({ kind: "created" });
  const [held] = await service.client.held();
  expect(held).toEqual({
    holdId: "hold-1",
    point: "before-effect",
    mode: "reconcilable",
    key: "k",
    clientGone: false,
  });
  caller.abort();
  expect(await call).toMatchObject({ kind: "unknown" });

  expect(await service.client.release("drop", { holdId: "hold-1" })).toBe(1);
  expect(await service.client.findTicket("reconcilable", "k")).toEqual({ kind: "absent" });
  expect((await service.client.books()).byKey["k"]).toEqual(tally(1, 0, 1, 1));
});

test("a killed caller before the effect: go performs it, as a request already on its way would", async () => {
  const service = await start();
  await service.client.hold({ mode: "opaque", point: "before-effect" });
  const caller = new AbortController();
  const call = service.client.createTicket(
    { mode: "opaque", key: "k", ticket: { title: "t", body: "" } },
    caller.signal,
  );
  await service.client.held();
  caller.abort();
  expect(await call).toMatchObject({ kind: "unknown" });
  await service.client.hold({ mode: "opaque", point: "after-effect" });
  await service.client.release("go");

  await expect
    .poll(() => service.client.held())
    .toMatchObject([{ point: "after-effect", clientGone: true }]);
  expect((await service.client.books()).byKey).toEqual({ t: tally(1, 1) });
});

test("held after the effect: the ticket is durable and answers for its key", async () => {
  const service = await start();
  await service.client.hold({ mode: "idempotent", point: "after-effect" });
  const call = create(service, "idempotent", "k");
  expect(await service.client.held()).toHaveLength(1);

  expect((await service.client.books()).byKey).toEqual({ k: tally(1, 1) });
  expect(await create(service, "idempotent", "k")).toMatchObject({ replayed: true });
  await service.client.release("drop");
  expect(await call).toMatchObject({ kind: "unknown" });
  expect((await service.client.books()).byKey).toEqual({ k: tally(2, 1) });
});

test("each hold stops one call; a disarmed hold stops none", async () => {
  const service = await start();
  await service.client.hold({ point: "before-effect" });
  expect(await service.client.disarm()).toBe(1);
  expect(await create(service, "opaque", "k")).toMatchObject({ kind: "created" });
  expect(await service.client.held(0)).toEqual([]);
  await expect(service.client.release("go", { holdId: "hold-1" })).rejects.toThrow(
    "TICKET_HOLD_UNKNOWN",
  );
});

test("waiting for a held call ends at its bound", async () => {
  const service = await start();
  expect(await service.client.held(20)).toEqual([]);
  await expect(service.client.held(60_001)).rejects.toThrow("TICKET_REQUEST_INVALID");
});

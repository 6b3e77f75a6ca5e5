import { create } from "@bufbuild/protobuf";
import {
  type EmitItem,
  EmitItemSchema,
  OfferSchema,
  StepItemSchema,
  type WorkRequest,
} from "@pawl/proto/v1/worker_service_pb.js";
import { Lease } from "@pawl/sdk/internal/lease.js";
import { WorkOutbox } from "@pawl/sdk/internal/work-outbox.js";
import { expect, test } from "vitest";
import { jsonPayload } from "./support/payloads.js";

function leaseOf(handle: number): Lease {
  return new Lease(create(OfferSchema, { handle, leaseVersion: 1, leaseMs: 1_000 }));
}

function chunk(lease: Lease, number: number, bytes = 10): EmitItem {
  const payload = jsonPayload("1".repeat(bytes));
  return create(EmitItemSchema, { handle: lease.handle, leaseVersion: 1, number, payload });
}

function step(outbox: WorkOutbox, lease: Lease): void {
  const message = create(StepItemSchema, { handle: lease.handle, correlation: 1, name: "s" });
  outbox.item({
    ...{ correlation: 1, lease, bytes: 10, sentAtMs: 0, settle: () => undefined },
    body: { kind: "step", message },
  });
}

/** Every message that there is to send. */
function takeAll(outbox: WorkOutbox): WorkRequest[] {
  const messages: WorkRequest[] = [];
  for (let next = outbox.take(); next !== undefined; next = outbox.take()) messages.push(next);
  return messages;
}

test("chunks of one tick leave in one message, and renew their lease", () => {
  const outbox = new WorkOutbox();
  const lease = leaseOf(1);
  const before = lease.renewAtMs;
  for (let number = 1; number <= 3; number++) outbox.emit(lease, chunk(lease, number));
  step(outbox, lease);
  const [message, ...more] = takeAll(outbox);
  expect(message?.emits.map(({ number }) => number)).toEqual([1, 2, 3]);
  expect(message?.steps).toHaveLength(1);
  expect(more).toEqual([]);
  expect(lease.renewAtMs).toBeGreaterThanOrEqual(before);
});

test("what is too much beside items leaves before them, so that a report never overtakes it", () => {
  const outbox = new WorkOutbox();
  const lease = leaseOf(1);
  for (let number = 1; number <= 20; number++) outbox.emit(lease, chunk(lease, number, 30_000));
  step(outbox, lease);
  const messages = takeAll(outbox).map(({ emits, steps }) => [emits.length, steps.length]);
  expect(messages).toEqual([
    [20, 0],
    [0, 1],
  ]);
});

test("one that emits without end does not hold up what is recorded", () => {
  const outbox = new WorkOutbox();
  const lease = leaseOf(1);
  step(outbox, lease);
  let number = 0;
  let messages = 0;
  for (let steps = 0; steps === 0; messages++) {
    for (let more = 0; more < 20; more++) outbox.emit(lease, chunk(lease, ++number, 30_000));
    steps = outbox.take()?.steps.length ?? 0;
  }
  expect(messages).toBe(5);
});

test("of what cannot leave the oldest goes, lease by lease, and the rest waits for the next stream", () => {
  const outbox = new WorkOutbox();
  const [loud, quiet, over] = [leaseOf(1), leaseOf(2), leaseOf(3)];
  outbox.emit(quiet, chunk(quiet, 1));
  outbox.emit(over, chunk(over, 1));
  for (let number = 1; number <= 100; number++) outbox.emit(loud, chunk(loud, number, 30_000));
  over.isOver = true;
  outbox.reset();
  const sent = takeAll(outbox).flatMap(({ emits }) => emits);
  const loudNumbers = sent.filter(({ handle }) => handle === 1).map(({ number }) => number);
  expect(loudNumbers.at(-1)).toBe(100);
  expect(loudNumbers.length).toBeGreaterThan(25);
  expect(loudNumbers.length).toBeLessThan(36);
  expect(loudNumbers).toEqual(loudNumbers.map((_, index) => 101 - loudNumbers.length + index));
  expect(sent.filter(({ handle }) => handle === 2)).toHaveLength(1);
  expect(sent.filter(({ handle }) => handle === 3)).toHaveLength(0);
});

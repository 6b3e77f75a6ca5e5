import { create } from "@bufbuild/protobuf";
import {
  ObservationItemSchema,
  OfferSchema,
  ProgressItemSchema,
  StepItemSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import { Lease } from "@pawl/sdk/internal/lease.js";
import type { WorkItem } from "@pawl/sdk/internal/work-item.js";
import { WorkOutbox } from "@pawl/sdk/internal/work-outbox.js";
import { expect, test } from "vitest";

const lease = new Lease(create(OfferSchema, { handle: 1, leaseVersion: 1, leaseMs: 1_000 }));

function step(correlation: number, bytes = 10): WorkItem {
  const message = create(StepItemSchema, { handle: 1, correlation, name: `s${correlation}` });
  return {
    correlation,
    lease,
    bytes,
    body: { kind: "step", message },
    sentAtMs: 0,
    settle: () => undefined,
  };
}

function observation(correlation: number, of = lease): WorkItem {
  const message = create(ObservationItemSchema, { handle: of.handle, correlation });
  return { ...step(correlation), lease: of, body: { kind: "observation", message } };
}

function correlations(outbox: WorkOutbox): number[] | undefined {
  return outbox.take()?.steps.map((item) => item.correlation);
}

test("what was queued before a ping was read leaves before its pong", () => {
  const outbox = new WorkOutbox();
  outbox.item(step(1));
  outbox.pong(9);
  outbox.item(step(2));
  const before = outbox.take();
  expect(before?.steps.map((item) => item.correlation)).toEqual([1]);
  expect(before?.pong).toBe(0);
  const after = outbox.take();
  expect(after?.pong).toBe(9);
  expect(after?.steps.map((item) => item.correlation)).toEqual([2]);
  expect(outbox.take()).toBeUndefined();
});

test("a pong alone leaves at once", () => {
  const outbox = new WorkOutbox();
  outbox.pong(3);
  expect(outbox.take()?.pong).toBe(3);
});

test("a message takes at most 1,000 items, and no more bytes than the kernel reads", () => {
  const outbox = new WorkOutbox();
  for (let number = 1; number <= 1_001; number++) outbox.item(step(number));
  expect(correlations(outbox)).toHaveLength(1_000);
  expect(correlations(outbox)).toEqual([1_001]);
  for (let number = 1; number <= 3; number++) outbox.item(step(number, 2_000_000));
  expect(correlations(outbox)).toEqual([1]);
  expect(correlations(outbox)).toEqual([2]);
  expect(correlations(outbox)).toEqual([3]);
});

test("progress leaves before an item that fills a message by itself, or after it, never beside it", () => {
  const outbox = new WorkOutbox();
  const progress = (): void => outbox.progress(lease, create(ProgressItemSchema, { handle: 1 }));
  progress();
  outbox.item(step(1, 4_000_000));
  const ahead = outbox.take();
  expect([ahead?.progress.length, ahead?.steps.length]).toEqual([1, 0]);
  progress();
  const filled = outbox.take();
  expect([filled?.progress.length, filled?.steps.length]).toEqual([0, 1]);
  expect(outbox.take()?.progress).toHaveLength(1);
  expect(outbox.take()).toBeUndefined();
});

test("what a task recorded is told in the order in which it did, though the kernel handles a message kind by kind", () => {
  const other = new Lease(create(OfferSchema, { handle: 2, leaseVersion: 1, leaseMs: 1_000 }));
  const outbox = new WorkOutbox();
  outbox.item(step(1));
  outbox.item(observation(2));
  outbox.item(observation(3, other));
  outbox.item(step(4));
  outbox.item(observation(5));
  expect(outbox.take()).toMatchObject({
    steps: [{ correlation: 1 }],
    observations: [{ correlation: 2 }, { correlation: 3 }],
  });
  expect(outbox.take()).toMatchObject({
    steps: [{ correlation: 4 }],
    observations: [{ correlation: 5 }],
  });
  expect(outbox.take()).toBeUndefined();
});

test("an item larger than a message should be is sent alone, not kept back", () => {
  const outbox = new WorkOutbox();
  outbox.item(step(1, 4_000_000));
  outbox.item(step(2));
  expect(correlations(outbox)).toEqual([1]);
  expect(correlations(outbox)).toEqual([2]);
});

test("only the last progress of a lease is sent, and it renews", () => {
  const outbox = new WorkOutbox();
  const old = lease.renewAtMs;
  outbox.renew(lease);
  outbox.renew(lease);
  expect(outbox.take()?.renewals).toEqual([1]);
  expect(lease.renewAtMs).toBeGreaterThanOrEqual(old);
});

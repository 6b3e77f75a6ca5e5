import { create } from "@bufbuild/protobuf";
import { RejectionSchema } from "@pawl/proto/v1/rejection_pb.js";
import {
  OfferSchema,
  type RenewedLease,
  RenewedLeaseSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import { Lease } from "@pawl/sdk/internal/lease.js";
import { Renewals } from "@pawl/sdk/internal/renewals.js";
import { expect, it } from "vitest";

function refusedFor(reason: string): RenewedLease {
  const rejection = create(RejectionSchema, { reason, message: "no" });
  return create(RenewedLeaseSchema, { rejection });
}

it("takes a lease for lost when the kernel says so, and not when the kernel is ill", async () => {
  const lease = new Lease(create(OfferSchema, { handle: 1, runId: "r", task: "t", leaseMs: 30 }));
  const answers = [
    refusedFor("PAWL_UNAVAILABLE"),
    refusedFor("PAWL_INTERNAL"),
    refusedFor("PAWL_LEASE_LOST"),
  ];
  const asked = await new Promise<number>((resolve) => {
    let calls = 0;
    const renewals = new Renewals({
      leases: [lease],
      renew: () => false,
      renewUnary: () => Promise.resolve([answers[calls++] ?? refusedFor("PAWL_LEASE_LOST")]),
      lost: () => {
        renewals.stop();
        resolve(calls);
      },
      cancelRequested: () => undefined,
    });
    renewals.added(lease);
  });
  expect(asked).toBe(3);
});

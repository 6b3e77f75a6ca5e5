import type { MessageInitShape } from "@bufbuild/protobuf";
import { type TaskWaitSchema, WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { type Case, long, lost, noRun, refused } from "./error-case.js";
import { leasedRun, leaseRef } from "./fixtures.js";

const { method: worker } = WorkerService;

/** A wait for time, by default an hour. */
export function timer(
  afterMs = 3_600_000,
  name = "pause",
): MessageInitShape<typeof TaskWaitSchema> {
  const due = { case: "afterMs", value: afterMs } as const;
  return { name, subject: { case: "timer", value: { due } } };
}

const waits = [timer()];

/** Every documented error of what concerns waiting that is a status. */
export const waitCases: readonly Case[] = [
  refused(worker.suspend, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({
    lease: { ...noRun, task: "only", leaseVersion: 1 },
    waits,
  })),
  refused(worker.suspend, "NOT_FOUND PAWL_TASK_NOT_FOUND", ({ open }) => ({
    lease: { ...leaseRef(open), task: "other" },
    waits,
  })),
  refused(worker.suspend, "FAILED_PRECONDITION PAWL_LEASE_LOST", (world) => ({
    lease: lost(world),
    waits,
  })),
  refused(worker.suspend, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ waits })),
  refused(worker.suspend, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    waits: [],
  })),
  refused(worker.suspend, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    waits: [timer(), timer(5)],
  })),
  refused(worker.suspend, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    waits: [{ name: "nothing" }],
  })),
  refused(worker.suspend, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    waits: [timer(5, long)],
  })),
  refused(worker.suspend, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    waits: [timer(-1)],
  })),
  refused(worker.suspend, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    waits: [timer(Number.NaN)],
  })),
  {
    name: worker.suspend.name,
    expected: "ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT",
    run: async (client) => {
      const lease = leaseRef(await leasedRun(client, "suspended"));
      await client.unary(worker.suspend, { lease, waits });
      await client.unary(worker.suspend, { lease, waits: [timer(5, "another")] });
    },
  },
];

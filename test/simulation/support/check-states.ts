import { encodeRunRow } from "@pawl/proto/log/v1/row_wire.js";
import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { findUnfinished } from "@pawl/server/core/invariants.js";
import { inlineRun } from "@pawl/server/core/rows/run-to-rows.js";
import type { Run } from "@pawl/server/core/state.js";
import { isRunOpen, isSettled } from "@pawl/server/core/transitions.js";
import type { Kernel } from "@pawl/server/kernel/kernel.js";
import { verifyStore } from "@pawl/server/kernel/storage/verify-store.js";
import { readMeta } from "@pawl/server/log/meta.js";
import { testFence, testPartition } from "../../support/kernel.js";
import type { SimDisk } from "./disk.js";
import type { ShadowLog } from "./shadow-log.js";

/** A state as text that is equal exactly for equal states. */
function imageOf(run: Run): string {
  const bytes = encodeRunRow(inlineRun(run, { count: 0, hash: new Uint8Array(0) }));
  return Buffer.from(bytes).toString("hex");
}

/** Replaying the durable log must give what the kernel serves, byte for byte. Only while the kernel is idle. */
export async function checkStates(
  kernel: Kernel,
  shadow: ShadowLog,
  complain: (text: string) => void,
): Promise<void> {
  for (const { number, state } of shadow.runs.values()) {
    const served = await kernel.view({ kind: "number", number }, imageOf);
    if (served !== imageOf(state)) {
      complain(`run ${number} is served in another state than its log gives`);
    }
  }
}

/** Nothing that must follow in the same commit is left undone. */
export function checkFinished(shadow: ShadowLog, complain: (text: string) => void): void {
  for (const { number, state } of shadow.runs.values()) {
    for (const { subject, expected, actual } of findUnfinished(state)) {
      complain(`run ${number}, ${subject}: expected ${expected}, but ${actual}`);
    }
  }
}

/** Everything that `pawl verify` checks of a closed store. */
export async function checkStore(
  { disk }: SimDisk,
  complain: (text: string) => void,
): Promise<void> {
  const store = disk.open({ epoch: testFence.epoch });
  const meta = readMeta(store, testPartition);
  for await (const report of verifyStore(store, { partition: testPartition, meta })) {
    if (report.kind === "problem") {
      complain(`the store does not verify: ${report.message}`);
    }
  }
  await store.close();
}

/** True when nothing is left to be done for a run but by a person. */
export function isAtRest(run: Run): boolean {
  const isWaiting = run.tasks.every(
    ({ status }) =>
      status !== TaskStatus.READY &&
      status !== TaskStatus.LEASED &&
      status !== TaskStatus.SUSPENDED &&
      status !== TaskStatus.BACKOFF,
  );
  const isAsked = run.operations.every(
    ({ status, callOpen, openReview }) =>
      isSettled(status) ||
      openReview !== undefined ||
      (status === OperationStatus.INTENDED && !callOpen),
  );
  const isPaid = run.openObligations.size === 0 || run.fault !== "";
  return run.kind === "ledger"
    ? isAsked
    : isPaid && isWaiting && (isAsked || isRunOpen(run.status));
}

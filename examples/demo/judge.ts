import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { RecoveryClass } from "@pawl/proto/v1/run_service_pb.js";
import { createPawlClient, type PawlClient } from "@pawl/sdk/client";
import type { Scene } from "./scene.js";
import { type Expected, expectations, type Outcome, type Window } from "./windows.js";

/** One line of the demo's result. The first seven fields are what `--json` prints. */
export interface Line {
  readonly window: Window;
  readonly sink: string;
  /** Who was killed, in order. */
  readonly killed: string;
  readonly sinkCalls: number;
  readonly sinkEffects: number;
  readonly outcome: Outcome | "failed";
  readonly ok: boolean;
  /** What is wrong, for people. Empty when all is right. */
  readonly problem: string;
}

/** Asks the kernel how it ended and the sink how often it was called, and compares both with what must come out. */
export async function judge(scene: Scene): Promise<Line> {
  const { window, sink } = scene.row;
  const client = createPawlClient({ url: scene.url });
  try {
    const ledger = await readLedger(client, scene.runId);
    const { calls, effects } = await readBooks(scene, ledger.key);
    const found = { outcome: outcomeOf(ledger, window), sinkCalls: calls, sinkEffects: effects };
    const problem = [differences(found, expectations[window][sink]), ledger.problem]
      .filter((part) => part !== "")
      .join("; ");
    const killed = scene.killed.join(" + ");
    return { window, sink, killed, ...found, ok: problem === "", problem };
  } finally {
    client.close();
  }
}

/** What the kernel has recorded about the effect. */
interface Ledger {
  readonly key: string;
  readonly class: RecoveryClass;
  /** How often the task of the effect was handed out. */
  readonly leases: number;
  /** What contradicts a sound end, for people. */
  readonly problem: string;
}

async function readLedger(client: PawlClient, runId: string): Promise<Ledger> {
  const report = await client.runs.getRecoveryReport({ runId });
  const line = report.lines.find(({ operationKey }) => operationKey !== "");
  if (line === undefined) throw new Error("expected the effect in the report, but it has none");
  const { operationKey: key, class: kind } = line;
  const { task } = await client.runs.getTask({ runId, task: "file" });
  const problem =
    kind === RecoveryClass.NEEDS_REVIEW
      ? await checkReview(client, runId, key)
      : await checkCompleted(client, key, report.status);
  return { key, class: kind, leases: task?.leaseVersion ?? 0, problem };
}

async function checkCompleted(client: PawlClient, key: string, run: RunStatus): Promise<string> {
  const { operation } = await client.operations.getOperation({ key });
  if (run !== RunStatus.COMPLETED) return `the run is in state ${run}, not COMPLETED`;
  return operation?.status === OperationStatus.OBSERVED ? "" : "the operation has no result";
}

/** A review must be there, and name what a person needs: the operation's key, and what the sink cannot do. */
async function checkReview(client: PawlClient, runId: string, key: string): Promise<string> {
  const { reviews } = await client.reviews.listReviews({ runId });
  const [review] = reviews;
  if (review === undefined || reviews.length !== 1) return `${reviews.length} reviews, not 1`;
  if (review.operationKey !== key) return "the review is about another operation";
  return review.known.includes(key) && review.choices.length > 0
    ? ""
    : `the review does not name what is known: "${review.known}"`;
}

function outcomeOf({ class: kind, leases }: Ledger, window: Window): Outcome | "failed" {
  switch (kind) {
    case RecoveryClass.RETRIED:
      return "retried";
    case RecoveryClass.RECONCILED:
      return "reconciled";
    case RecoveryClass.NEEDS_REVIEW:
      return "needs-review";
    case RecoveryClass.UNDISTURBED:
      if (leases !== 1) return "failed";
      return window.endsWith("after-completion") ? "skipped" : "performed";
    default:
      return "failed";
  }
}

/** An opaque sink keeps nothing of the key; its books count by title. */
async function readBooks(
  { tickets, row, title }: Scene,
  key: string,
): Promise<{ readonly calls: number; readonly effects: number }> {
  const { byKey } = await tickets.books(row.sink);
  return byKey[row.sink === "opaque" ? title : key] ?? { calls: 0, effects: 0 };
}

function differences(
  found: Omit<Expected, "outcome"> & { outcome: string },
  expected: Expected,
): string {
  const fields = ["outcome", "sinkCalls", "sinkEffects"] as const;
  return fields
    .filter((field) => found[field] !== expected[field])
    .map((field) => `expected ${field} ${expected[field]}, but it is ${found[field]}`)
    .join("; ");
}

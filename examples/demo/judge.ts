import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { RecoveryClass } from "@pawl/proto/v1/recovery_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { createPawlClient, type PawlClient } from "@pawl/sdk/client";
import { judgeApproval } from "./judge-approval.js";
import { judgeMerge } from "./judge-merge.js";
import type { Scene } from "./scene.js";
import {
  type Expected,
  expectations,
  expectedApprovals,
  expectedMerges,
  type Outcome,
  type Window,
} from "./windows.js";

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
  const client = createPawlClient(scene.addressAs("client"));
  const approval = expectedApprovals[window];
  const merge = expectedMerges[window];
  try {
    const ledger = await readLedger(client, scene.runId, merge === undefined ? "file" : "main");
    const { calls, effects, strangers } = await readBooks(scene, ledger.key);
    const found = { outcome: outcomeOf(ledger, window), sinkCalls: calls, sinkEffects: effects };
    const problem = [
      differences(found, expectations[window][sink]),
      ledger.problem,
      strangers,
      approval === undefined ? "" : await judgeApproval(scene, ledger.key, approval),
      merge === undefined ? "" : await judgeMerge(client, scene.runId, merge),
    ]
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

async function readLedger(client: PawlClient, runId: string, name: string): Promise<Ledger> {
  const report = await client.runs.getRecoveryReport({ runId });
  const line = report.lines.find(({ operationKey }) => operationKey !== "");
  if (line === undefined) throw new Error("expected the effect in the report, but it has none");
  const { operationKey: key, class: kind } = line;
  const { task } = await client.runs.getTask({ runId, task: name });
  const problem =
    kind === RecoveryClass.NEEDS_REVIEW
      ? await checkReview(client, runId, key)
      : await checkCompleted(client, { key, kind, run: report.status });
  return { key, class: kind, leases: task?.leaseVersion ?? 0, problem };
}

interface Completed {
  readonly key: string;
  readonly kind: RecoveryClass;
  readonly run: RunStatus;
}

async function checkCompleted(client: PawlClient, { key, kind, run }: Completed): Promise<string> {
  if (run !== RunStatus.COMPLETED) return `the run is in state ${run}, not COMPLETED`;
  // There is no operation when nobody allowed it.
  if (kind === RecoveryClass.SKIPPED) return "";
  const { operation } = await client.operations.getOperation({ key });
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
    case RecoveryClass.SKIPPED:
      return "not-performed";
    case RecoveryClass.UNTOUCHED:
      // The task was handed out before it was allowed, or before it had what it merges, and after.
      if (expectedApprovals[window] !== undefined) return "performed";
      if (expectedMerges[window] !== undefined) return "performed";
      if (leases !== 1) return "failed";
      return window.endsWith("after-completion") ? "skipped" : "performed";
    default:
      return "failed";
  }
}

/** What the sink has written down. */
interface Booked {
  readonly calls: number;
  readonly effects: number;
  /** Tickets whose title is not the one that was asked for, for people. Empty when there are none. */
  readonly strangers: string;
}

/** An opaque sink keeps nothing of the key; its books count by title. */
async function readBooks({ tickets, row, finalTitle }: Scene, key: string): Promise<Booked> {
  const { byKey, tickets: made } = await tickets.books(row.sink);
  const { calls = 0, effects = 0 } = byKey[row.sink === "opaque" ? finalTitle : key] ?? {};
  const strangers = made
    .filter(({ title }) => title !== finalTitle)
    .map(({ title }) => `there is a ticket "${title}"`)
    .join("; ");
  return { calls, effects, strangers };
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

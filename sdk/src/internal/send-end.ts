import { create } from "@bufbuild/protobuf";
import type { Rejection } from "@pawl/proto/v1/rejection_pb.js";
import {
  NoOutputSchema,
  ReleaseItemSchema,
  type ReportItem,
  ReportItemSchema,
  SuspendItemSchema,
  type TaskWait,
} from "@pawl/proto/v1/worker_service_pb.js";
import { RecordMismatch } from "../workflow-errors.js";
import type { AttemptEnd } from "./attempt.js";
import { payloadBytes } from "./codec.js";
import { toFailure } from "./failure.js";
import { misfit } from "./functions/misfit.js";
import type { Lease } from "./lease.js";
import { errorFromRejection, isAttemptOver } from "./rejection.js";
import { boundText } from "./text.js";
import { wait } from "./time.js";
import type { ItemAnswer, ItemBody } from "./work-item.js";
import type { WorkStream } from "./work-stream.js";

/** Most bytes of a failure. */
const FAILURE_BYTES = 16_384;

/** Most names of what was not reached: the kernel's own bound. */
const UNVISITED_MAX = 100;

type Suspended = Extract<AttemptEnd, { case: "suspend" }>;
type Reported = Exclude<AttemptEnd, { case: "nothing" | "release" | "suspend" }>;

/**
 * Tells the kernel how an attempt ended; resolves when it knows, with whether it took that. A report that is refused for what it says (too large,
 * operations open) is followed by a failure that says so: a task must not hang on what its worker could not tell.
 */
export async function sendEnd(
  stream: WorkStream,
  lease: Lease,
  end: Exclude<AttemptEnd, { case: "nothing" }>,
): Promise<boolean> {
  if (end.case === "release") {
    await sendRelease(stream, lease, end);
    return true;
  }
  const rejection =
    end.case === "suspend"
      ? await sendSuspend(stream, lease, end)
      : await sendReport(stream, lease, end);
  if (rejection === undefined || isAttemptOver(rejection)) {
    return rejection === undefined;
  }
  if (!isOtherReport(rejection)) {
    const error = misfit(errorFromRejection(rejection));
    const { failure } = toFailure(error);
    const forReview = error instanceof RecordMismatch;
    const report = { case: "failure", failure, retryAfterMs: undefined, forReview } as const;
    await insist(stream, lease, report);
  }
  return false;
}

/** How long until a report that was refused is sent again, in ms; as often as there are lengths. */
const AGAIN_MS = [0, 10, 50, 250, 1_000] as const;

/**
 * Sends a report until it is taken. Items are refused until the kernel knows that the worker has heard of the first refusal, which may be after this report. When it is never taken, the lease
 * runs out and the kernel's own failure says so.
 */
async function insist(stream: WorkStream, lease: Lease, report: Reported): Promise<void> {
  for (const againMs of AGAIN_MS) {
    await wait(againMs);
    await stream.confirm();
    const rejection = await sendReport(stream, lease, report);
    if (rejection === undefined || isAttemptOver(rejection) || isOtherReport(rejection)) return;
  }
}

/** True when another end was accepted before: it counts. */
function isOtherReport({ detail }: Rejection): boolean {
  return detail.case === "fingerprintConflict" && detail.value.entity === "report";
}

async function sendReport(
  stream: WorkStream,
  lease: Lease,
  end: Reported,
): Promise<Rejection | undefined> {
  const { rejection } = await send(stream, lease, bytesOf(end), (correlation) => ({
    kind: "report",
    message: makeReport(lease, end, correlation),
  }));
  return rejection;
}

/** How a task is given back. */
export interface ReleaseParts {
  /** Why, for people. At most 1,000 bytes; more is cut. */
  readonly reason: string;
  /** Not to be offered before, in ms from now. Default 0. */
  readonly delayMs?: number;
}

async function sendSuspend(
  stream: WorkStream,
  lease: Lease,
  { waits, seenThrough, copy }: Suspended,
): Promise<Rejection | undefined> {
  const { handle, leaseVersion } = lease;
  const bytes = waits.reduce((sum, asked) => sum + waitBytes(asked), 100);
  const keepsWarm = copy !== undefined;
  const { rejection } = await send(stream, lease, bytes, (correlation) => ({
    kind: "suspend",
    message: create(SuspendItemSchema, {
      ...{ handle, leaseVersion, correlation, waits, seenThrough, keepsWarm },
    }),
  }));
  return rejection;
}

/** About what a wait takes in a message: names at their longest, and what is asked. */
export function waitBytes({ subject }: TaskWait): number {
  const asked = subject.case === "input" ? subject.value.question + subject.value.schema : "";
  return 700 + 3 * asked.length;
}

/** Gives a task back; it uses no attempt. */
export async function sendRelease(
  stream: WorkStream,
  lease: Lease,
  { reason, delayMs = 0 }: ReleaseParts,
): Promise<void> {
  const { handle, leaseVersion } = lease;
  await send(stream, lease, 1_300, (correlation) => ({
    kind: "release",
    message: create(ReleaseItemSchema, { handle, leaseVersion, correlation, reason, delayMs }),
  }));
}

function send(
  stream: WorkStream,
  lease: Lease,
  bytes: number,
  make: (correlation: number) => ItemBody,
): Promise<ItemAnswer> {
  return new Promise((resolve) => stream.send(lease, bytes, make, resolve));
}

function bytesOf(end: Reported): number {
  return end.case === "output" ? 100 + payloadBytes(end.output) : 100 + FAILURE_BYTES;
}

function makeReport(lease: Lease, end: Reported, correlation: number): ReportItem {
  const { handle, leaseVersion } = lease;
  const report = create(ReportItemSchema, { handle, leaseVersion, correlation });
  if ("unvisited" in end && end.unvisited !== undefined) {
    report.unvisited = end.unvisited.slice(0, UNVISITED_MAX).map((name) => boundText(name, 500));
  }
  switch (end.case) {
    case "output":
      report.outcome = { case: "output", value: end.output };
      break;
    case "noOutput":
      report.outcome = { case: "noOutput", value: create(NoOutputSchema) };
      break;
    case "cancelled":
      report.outcome = { case: "cancelled", value: end.failure };
      break;
    case "failure":
      report.outcome = { case: "failure", value: end.failure };
      if (end.forReview === true) report.forReview = true;
      if (end.retryAfterMs !== undefined) report.retryAfterMs = end.retryAfterMs;
      break;
  }
  return report;
}

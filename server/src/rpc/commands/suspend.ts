import type { InputWaitShape, TaskWaitShape } from "@pawl/proto/v1/worker_service_wire.js";
import type {
  DeclareWaits,
  SuspendTask,
  TaskRef,
  WaitFor,
  WaitSubject,
} from "../../core/command.js";
import { limits } from "../../core/limits.js";
import { sha256 } from "../../log/sha256.js";
import { badField } from "../refusals.js";
import { requireCount, requireId, requireNumber, requireText } from "../validate/fields.js";
import { parsePartId } from "../views/part-id.js";
import { parseProposalId } from "../views/proposal-id.js";

/** What a task is suspended with. */
export interface SuspendParts {
  readonly leaseVersion: number;
  readonly seenThrough: number;
  readonly waits: readonly TaskWaitShape[];
  /** The worker keeps the code in memory. Default false. */
  readonly keepsWarm?: boolean;
}

/**
 * The command that gives a task back until something is there, checked. Paths of fields are relative to the item.
 *
 * @throws RejectionError PAWL_INVALID_FIELD.
 */
export function suspendCommand(parts: SuspendParts, task: TaskRef): SuspendTask {
  const { leaseVersion, seenThrough, waits, keepsWarm = false } = parts;
  if (waits.length > limits.openWaitsMax) {
    throw badField("waits", `at most ${limits.openWaitsMax}`, `${waits.length}`);
  }
  return {
    kind: "SuspendTask",
    task,
    leaseVersion,
    seenThrough,
    waits: checkedWaits(waits),
    progress: undefined,
    keepsWarm,
  };
}

/**
 * The command that begins waits while the lease stays, checked. Paths of fields are relative to the item.
 *
 * @throws RejectionError PAWL_INVALID_FIELD.
 */
export function declareCommand(
  { leaseVersion, waits }: Omit<SuspendParts, "seenThrough" | "keepsWarm">,
  task: TaskRef,
): DeclareWaits {
  requireCount(waits.length, "waits", limits.batchItemsMax);
  return { kind: "DeclareWaits", task, leaseVersion, waits: checkedWaits(waits) };
}

function checkedWaits(waits: readonly TaskWaitShape[]): WaitFor[] {
  const names = new Set<string>();
  return waits.map((wait, index) => {
    const field = `waits[${index}]`;
    const { name, key } = wait;
    requireId("step", name, `${field}.name`);
    if (key !== undefined) {
      requireId("discriminator", key, `${field}.key`);
    }
    const identity = JSON.stringify([name, key]);
    if (names.has(identity)) {
      throw badField(field, "a name that no other wait of the item has", `"${name}" again`);
    }
    names.add(identity);
    return { name, key, subject: subjectOf(wait, field) } satisfies WaitFor;
  });
}

function subjectOf({ subject }: TaskWaitShape, field: string): WaitSubject {
  switch (subject.case) {
    case "timer":
      return { case: "timer", due: timerDue(subject.value.due, `${field}.timer`) };
    case "signal": {
      const { signal, timeoutMs } = subject.value;
      requireId("step", signal, `${field}.signal.signal`);
      requireLength(timeoutMs, `${field}.signal.timeout_ms`);
      return { case: "signal", signal, timeoutMs };
    }
    case "update": {
      const { update, timeoutMs } = subject.value;
      requireId("step", update, `${field}.update.update`);
      requireLength(timeoutMs, `${field}.update.timeout_ms`);
      return { case: "update", update, timeoutMs };
    }
    case "input":
      return inputSubject(subject.value, `${field}.input`);
    case "proposal": {
      const { proposalId } = subject.value;
      const named = parseProposalId(proposalId, `${field}.proposal.proposal_id`);
      return { case: "proposal", ofRun: named.runNumber, proposal: named.proposal };
    }
    case "obligation":
      return { case: "obligation", obligation: subject.value.obligation };
    case "child":
      return { case: "child", obligation: subject.value.obligation };
    case "review": {
      const { part: review, incarnation } = parsePartId("review", subject.value.reviewId);
      return { case: "review", review, incarnation };
    }
    default:
      throw badField(
        `${field}.subject`,
        "one of timer, signal, update, input, proposal, obligation, child, review",
        "absent",
      );
  }
}

/** An absent length is none. */
function requireLength(ms: number | undefined, field: string): void {
  if (ms !== undefined) {
    requireNumber(ms, field, { min: 0, max: limits.timeoutMsMax });
  }
}

function inputSubject(input: InputWaitShape, field: string): WaitSubject {
  const { question, addressee, schema, expiresInMs } = input;
  requireText(question, `${field}.question`, { min: 1, max: limits.questionBytesMax });
  requireText(addressee, `${field}.addressee`, { min: 0, max: limits.idBytesMax });
  requireText(schema, `${field}.schema`, { min: 0, max: limits.schemaBytesMax });
  requireLength(expiresInMs, `${field}.expires_in_ms`);
  // Lengths make it injective.
  const parts = [question, addressee, schema].map((part) => `${part.length}:${part}`);
  const fingerprint = sha256(Buffer.from(`input-1\n${parts.join("")}`, "utf8"));
  return { case: "input", question, addressee, schema, expiresInMs, fingerprint };
}

type TimerDue = Extract<TaskWaitShape["subject"], { case: "timer" }>["value"]["due"];

function timerDue(due: TimerDue, field: string): Extract<WaitSubject, { case: "timer" }>["due"] {
  switch (due.case) {
    case "afterMs":
      requireNumber(due.value, `${field}.after_ms`, { min: 0, max: limits.timeoutMsMax });
      return { afterMs: due.value };
    case "atMs":
      // How far ahead it may lie is counted from the kernel's own time.
      requireNumber(due.value, `${field}.at_ms`, { min: 0, max: Number.MAX_SAFE_INTEGER });
      return { atMs: due.value };
    default:
      throw badField(`${field}.due`, "one of after_ms, at_ms", "absent");
  }
}

/** The schemas of what is asked, by the place of the wait. */
export function schemasOf(waits: readonly TaskWaitShape[]): (readonly [number, string])[] {
  return waits.flatMap(({ subject }, index) =>
    subject.case === "input" && subject.value.schema !== ""
      ? [[index, subject.value.schema] as const]
      : [],
  );
}

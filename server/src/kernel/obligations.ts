import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { ObligationStatus, ParentClose } from "@pawl/proto/v1/obligation_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import type { PlanSource } from "../core/apply.js";
import type { Caller } from "../core/caller.js";
import type { Command, StartRun } from "../core/command.js";
import type { RejectionReason } from "../core/rejection.js";
import type { Obligation, Run } from "../core/state.js";
import { StoreDamaged } from "../log/store-errors.js";
import type { FaultLog } from "./fault-log.js";
import type { Outcome, Target } from "./outcome.js";
import type { Cancellable, Timers } from "./ports.js";
import type { Found } from "./residency.js";
import type { Resident } from "./resident.js";

/** What paying obligations needs of the loop. */
export interface ObligationsParts {
  readonly timers: Timers;
  readonly faults: FaultLog;
  /** Finds a run for the kernel's own work; never throws, and its promise never rejects. */
  readonly findSender: (runNumber: number) => Found;
  /** Finds a run by its id; may throw, and its promise may reject. */
  readonly findReceiver: (target: Target) => Found;
  readonly decideOn: (resident: Resident, command: Command, caller?: Caller) => Outcome;
  /** Begins a run that does not exist; undefined: not now, since the kernel is behind. */
  readonly begin: (target: Target, command: StartRun, caller: Caller) => Outcome | undefined;
  /** The compiled form of a recorded plan. */
  readonly plans: PlanSource;
  /** False once nothing is decided any more. */
  readonly isWorking: () => boolean;
  readonly schedule: () => void;
  readonly fail: (error: unknown) => void;
}

/** Something that one run owes another. */
interface Debt {
  readonly sender: number;
  readonly obligation: number;
  readonly namespace: string;
  readonly runId: string;
}

/** Paid one after another before others get their turn. */
const paidAtOnce = 256;
/** When a receiver is asked again that could not answer, in ms: it is set aside, or damaged. */
const againMs = 5_000;

/** How a refusal counts as an answer. What is missing here is none: the receiver is asked again. */
const answers: Readonly<Partial<Record<RejectionReason, ObligationStatus>>> = {
  PAWL_RUN_OVER: ObligationStatus.RUN_OVER,
  PAWL_OVERLOADED: ObligationStatus.FULL,
  PAWL_TOO_LARGE: ObligationStatus.FULL,
  PAWL_RUN_EXISTS: ObligationStatus.EXISTS,
  PAWL_RUN_NOT_FOUND: ObligationStatus.NOT_FOUND,
  PAWL_RUN_DELETED: ObligationStatus.NOT_FOUND,
  PAWL_FINGERPRINT_CONFLICT: ObligationStatus.EXISTS,
};

/**
 * Pays what runs owe each other. An obligation is fed to its receiver in the turn that records it, and the receiver's answer is recorded with
 * the sender in that turn too: one commit has all three. Where one of the two runs must be read first, the obligation waits for that; what the
 * receiver does and its answer are in one commit even so. After a start every run with an open obligation is read, and tells of it again.
 *
 * What is owed to one receiver is paid in the order in which it was told.
 */
export class Obligations {
  readonly #parts: ObligationsParts;
  #due: Debt[] = [];
  /** Receivers that are being read, or could not answer, with what is owed to them, in order. */
  readonly #heldUp = new Map<string, Debt[]>();
  readonly #timers = new Set<Cancellable>();
  #isPaying = false;
  #soon: Cancellable | undefined;

  constructor(parts: ObligationsParts) {
    this.#parts = parts;
  }

  /** What cannot be paid yet, for metrics and tests. */
  get heldUp(): number {
    let count = this.#due.length;
    for (const debts of this.#heldUp.values()) {
      count += debts.length;
    }
    return count;
  }

  /** A run owes another one something. It may be told again: what is settled is passed over. */
  owe(sender: number, run: Run, obligation: number): void {
    const { namespace } = run;
    const runId = run.obligations[obligation]?.declaration.runId ?? "";
    this.#due.push({ sender, obligation, namespace, runId });
    this.#paySoon();
  }

  /** Pays what can be paid now. Called when a command was carried out: what follows from it joins its turn. */
  pay(): void {
    if (this.#due.length === 0 || this.#isPaying || !this.#parts.isWorking()) {
      return;
    }
    this.#isPaying = true;
    try {
      for (let paid = 0; paid < paidAtOnce && this.#due.length > 0; paid++) {
        const debt = this.#due.shift();
        if (debt !== undefined) {
          this.#payOrHold(debt);
        }
      }
    } finally {
      this.#isPaying = false;
    }
    this.#parts.schedule();
    if (this.#due.length > 0) {
      this.#paySoon();
    }
  }

  /** Calls all timers off. */
  close(): void {
    this.#soon?.cancel();
    for (const timer of this.#timers) {
      timer.cancel();
    }
    this.#timers.clear();
  }

  /** What was told outside a command, by a run that was read, is paid when there is time. */
  #paySoon(): void {
    this.#soon ??= this.#parts.timers.soon(() => {
      this.#soon = undefined;
      this.pay();
    });
  }

  #payOrHold(debt: Debt): void {
    const waiting = this.#heldUp.get(receiverOf(debt));
    if (waiting !== undefined) {
      waiting.push(debt);
      return;
    }
    const sender = this.#parts.findSender(debt.sender);
    if (sender instanceof Promise) {
      this.#holdWhile(debt, sender);
      return;
    }
    const obligation = sender?.run.obligations[debt.obligation];
    if (sender === undefined || obligation === undefined || !maySend(sender.run, obligation)) {
      return; // It is settled; or it will be told again, when the run goes on.
    }
    try {
      const { namespace, runId } = debt;
      const receiver = this.#parts.findReceiver({ kind: "run", namespace, runId });
      if (receiver instanceof Promise) {
        this.#holdWhile(debt, receiver);
      } else {
        this.#payTo(receiver, sender, debt);
      }
    } catch (error) {
      this.#refused(debt, error);
    }
  }

  #payTo(receiver: Resident | undefined, sender: Resident, debt: Debt): void {
    const { obligation: number } = debt;
    const obligation = sender.run.obligations[number];
    const order =
      obligation === undefined ? undefined : commandOf(sender, obligation, this.#parts.plans);
    if (obligation === undefined || order === undefined) {
      return;
    }
    const status = this.#tell(receiver, order, { debt, caller: callerOf(obligation) });
    if (status === undefined) {
      this.#holdFor(debt, againMs);
      return;
    }
    this.#parts.decideOn(sender, { kind: "SettleObligation", obligation: number, status });
  }

  #tell(
    receiver: Resident | undefined,
    order: Command,
    { debt, caller }: { readonly debt: Debt; readonly caller: Caller },
  ): ObligationStatus | undefined {
    if (receiver !== undefined) {
      return answerOf(this.#parts.decideOn(receiver, order, caller));
    }
    if (order.kind !== "StartRun") {
      return ObligationStatus.NOT_FOUND;
    }
    const { namespace, runId } = debt;
    const outcome = this.#parts.begin({ kind: "run", namespace, runId }, order, caller);
    return outcome === undefined ? undefined : answerOf(outcome);
  }

  /** Waits for a run to be read. */
  #holdWhile(debt: Debt, reading: Promise<void>): void {
    this.#heldUp.set(receiverOf(debt), [debt]);
    reading.then(
      () => this.#goOn(debt),
      (error: unknown) => {
        const held = this.#heldUp.get(receiverOf(debt)) ?? [debt];
        this.#heldUp.delete(receiverOf(debt));
        this.#refused(debt, error, held);
      },
    );
  }

  /** A receiver that is damaged is asked again later: it may be mended at the next start. A store that fails ends the kernel. */
  #refused(debt: Debt, error: unknown, held: readonly Debt[] = [debt]): void {
    if (!(error instanceof StoreDamaged)) {
      this.#parts.fail(error);
      return;
    }
    this.#parts.faults.record(0, "read", error);
    this.#holdFor(debt, againMs, held);
  }

  #holdFor(debt: Debt, delayMs: number, held: readonly Debt[] = [debt]): void {
    this.#heldUp.set(receiverOf(debt), [...held]);
    const timer = this.#parts.timers.after(delayMs, () => {
      this.#timers.delete(timer);
      this.#goOn(debt);
    });
    this.#timers.add(timer);
  }

  /** What was held up comes before what is owed since, in its order. */
  #goOn(debt: Debt): void {
    const key = receiverOf(debt);
    const held = this.#heldUp.get(key) ?? [];
    this.#heldUp.delete(key);
    this.#due = [...held, ...this.#due];
    this.pay();
  }
}

/** Ids hold no NUL, so this is injective. */
function receiverOf({ namespace, runId }: Debt): string {
  return `${namespace}\0${runId}`;
}

/** A paused run sends nothing, and neither does one that is set aside: what it owes is told again when it goes on. */
function maySend(run: Run, { status }: Obligation): boolean {
  return status === ObligationStatus.OPEN && run.pause === undefined && run.fault === "";
}

function answerOf(outcome: Outcome): ObligationStatus | undefined {
  return outcome.accepted ? ObligationStatus.DELIVERED : answers[outcome.rejection.reason];
}

/** The receiver is told who had the code run that sends. */
function callerOf({ declaration }: Obligation): Caller {
  return { principal: declaration.principal, roles: [], authenticated: false };
}

function commandOf(
  { number: run, run: sender }: Resident,
  { number, declaration }: Obligation,
  plans: PlanSource,
): Command | undefined {
  const { order } = declaration;
  const { runId } = sender;
  const common = { expectedVersion: undefined, from: { run, obligation: number, runId } };
  switch (order.case) {
    case "signal": {
      const { signal, payload } = order.value;
      return { kind: "SendSignal", name: signal, payload, requestId: "", ...common };
    }
    case "cancel":
      return { kind: "CancelRun", reason: order.value.reason, ...common };
    case "terminate":
      return { kind: "TerminateRun", expectedVersion: undefined, reason: order.value.reason };
    case "child":
      return startOf(sender, declaration, { parent: common.from, plans });
    case "ended": {
      const { child, status, output, failure } = order.value;
      const ended = { status, output, failure: failure as FailureShape | undefined };
      return { kind: "EndChild", obligation: child, childRunId: runId, ...ended };
    }
    case undefined:
      return undefined;
  }
}

/** A child takes over its parent's trace, and unless it is detached ends with it at the latest. */
function startOf(
  { namespace, traceparent, deadline }: Run,
  { runId, order }: Obligation["declaration"],
  { parent, plans }: { readonly parent: StartRun["parent"]; readonly plans: PlanSource },
): StartRun | undefined {
  if (order.case !== "child" || order.value.plan === undefined) {
    return undefined;
  }
  const { workflow, plan, input, fingerprint, parentClose, runTimeoutMs, codeVersion } =
    order.value;
  return {
    ...{ kind: "StartRun", namespace, runId, workflow, input, fingerprint, traceparent, parent },
    ...{ plan: plans(plan), codeVersion },
    labels: [],
    onExisting: OnExisting.ATTACH,
    requestId: "",
    runTimeoutMs: runTimeoutMs === 0 ? undefined : runTimeoutMs,
    deadlineMs: parentClose === ParentClose.DETACH ? undefined : deadline?.atMs,
  };
}

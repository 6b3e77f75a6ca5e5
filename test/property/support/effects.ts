import type { OperationDeclarationShape } from "@pawl/proto/log/v1/event_wire.js";
import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { EventMeta, EventValue } from "@pawl/server/core/event.js";
import type { Recorded } from "../../core/support/machine.js";
import { PERSONS_REASON } from "./command-of.js";
import { LeftOpen } from "./left-open.js";

/** What an outside judge knows of one operation, from the recorded events alone. */
interface Judged {
  readonly declaration: OperationDeclarationShape;
  /** Calls that may have had an effect, or may still have one. */
  readonly possible: Set<string>;
  settledBy: string | undefined;
}

/**
 * Calls for which the events give no reason: a sink may be called when no earlier call can have had an effect (each
 * never left, was looked up and not found, or a person said so), or when the sink is idempotent and still knows the key
 * when the call is over. And what an incarnation left open that the next cannot see to. A model of its own: it looks at no
 * state of the core.
 */
export function findUnfoundedCalls(events: readonly Recorded[]): string[] {
  const judge = new Judge();
  for (const event of events) {
    judge.hear(event);
  }
  return judge.complaints;
}

class Judge {
  readonly complaints: string[] = [];
  private readonly operations = new Map<number, Judged>();
  private readonly reviews = new Map<number, number>();
  private readonly leftOpen = new LeftOpen();

  hear({ body, meta }: Recorded): void {
    for (const left of this.leftOpen.hear(body)) {
      this.complaints.push(`event ${meta.number}: the next incarnation began with ${left} open`);
    }
    if (body.case === "runRestarted" || body.case === "runContinued") {
      // Numbers begin anew, and so do keys.
      this.operations.clear();
      this.reviews.clear();
    } else if (body.case === "operationIntended") {
      this.hearIntent(body.value, meta);
    } else if (body.case === "operationObserved") {
      this.hearOutcome(body.value, meta);
    } else if (body.case === "operationReconciled") {
      this.hearFinding(body.value, meta);
    } else if (body.case === "reviewOpened" && body.value.subject === ReviewSubject.OPERATION) {
      this.reviews.set(body.value.review, body.value.operation);
    } else if (body.case === "reviewResolved") {
      this.hearDecision(body.value);
    }
  }

  private hearIntent(value: EventValue<"operationIntended">, meta: EventMeta): void {
    const known = this.operations.get(value.operation);
    if (known === undefined) {
      this.operations.set(value.operation, declare(value.declaration, value.intentId));
      return;
    }
    const complaint = findFault(known, meta.atMs);
    if (complaint !== undefined) {
      this.complaints.push(`event ${meta.number}, call ${value.intentId}: ${complaint}`);
    }
    known.possible.add(callOf(value.intentId, meta.number));
  }

  private hearOutcome(value: EventValue<"operationObserved">, meta: EventMeta): void {
    const known = this.operations.get(value.operation);
    if (value.outcome.case === "notSent") {
      forgetLatest(known);
    } else if (value.outcome.case !== "unknown") {
      settle(known, meta.number);
    }
  }

  private hearFinding(value: EventValue<"operationReconciled">, meta: EventMeta): void {
    const known = this.operations.get(value.operation);
    if (value.finding.case === "absent") {
      known?.possible.clear();
    } else if (value.finding.case === "found") {
      settle(known, meta.number);
    }
  }

  private hearDecision(value: EventValue<"reviewResolved">): void {
    // A late word that the call never left also resolves the review; it was judged by its own event.
    const says = value.choice === ReviewChoice.RETRY || value.choice === ReviewChoice.NOT_DONE;
    if (says && value.reason === PERSONS_REASON) {
      this.operations.get(this.reviews.get(value.review) ?? -1)?.possible.clear();
    }
  }
}

function declare(declaration: OperationDeclarationShape | undefined, intentId: string): Judged {
  if (declaration === undefined) {
    throw new Error("a first intent without declaration");
  }
  return { declaration, possible: new Set([callOf(intentId, 0)]), settledBy: undefined };
}

/** Ids of calls may be sent again, so the event tells them apart. */
function callOf(intentId: string, event: number): string {
  return `${intentId}@${event}`;
}

function forgetLatest(known: Judged | undefined): void {
  const latest = known === undefined ? undefined : [...known.possible].at(-1);
  if (latest !== undefined) {
    known?.possible.delete(latest);
  }
}

function settle(known: Judged | undefined, event: number): void {
  if (known !== undefined) {
    known.settledBy ??= `event ${event}`;
  }
}

function findFault(known: Judged, nowMs: number): string | undefined {
  const { sinkKind, keyWindowEndsMs, callTimeoutMs } = known.declaration;
  if (known.settledBy !== undefined) {
    return `it was settled by ${known.settledBy}`;
  }
  if (known.possible.size === 0) {
    return undefined;
  }
  if (sinkKind === SinkKind.IDEMPOTENT && nowMs + callTimeoutMs <= keyWindowEndsMs) {
    return undefined;
  }
  return `${known.possible.size} earlier calls may have had an effect (sink ${sinkKind})`;
}

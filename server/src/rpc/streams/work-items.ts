import type { ItemResultShape, WorkRequestShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { Caller } from "../../core/caller.js";
import type { Rejection } from "../../core/rejection.js";
import { type Outcome, type Receiver, RejectionError } from "../../kernel/outcome.js";
import type { StreamAccess } from "../access/stream-access.js";
import type { Edge } from "../edge.js";
import { rejectionShape } from "../rejection-shape.js";
import { intentAnswer } from "../views/intent-view.js";
import { obligationAnswer } from "../views/obligation-view.js";
import type { Handle, Handles } from "./handles.js";
import { mayBeSameStep, reconsiderStep } from "./reconsider-step.js";
import { stepShape } from "./records.js";
import { Slots } from "./slots.js";
import { type OrderParts, orderOf, type WorkItem } from "./work-orders.js";
import type { WorkOutbox } from "./work-outbox.js";
import type { Preparations } from "./work-preparation.js";

/** An item whose answer is awaited. */
interface Pending {
  readonly work: WorkItem;
  readonly entry: Handle | undefined;
}

/** What the items of a stream need of it. */
export interface WorkItemsParts {
  readonly edge: Edge;
  readonly access: StreamAccess;
  /** Told of outcomes and released; it hands the outcomes on to `outcome`. */
  readonly receiver: Receiver;
  readonly handles: Handles;
  /** What is held back until it is durable. */
  readonly outbox: WorkOutbox;
  /** What depends on nothing that must be durable. */
  readonly now: WorkOutbox;
  readonly acknowledge: (entry: Handle | undefined) => void;
  readonly sendNow: () => void;
  readonly toRejection: (error: unknown) => Rejection;
}

/** Before the Hello was read, which comes before every item. */
const nobodyYet: Caller = { principal: "", roles: [], authenticated: false };

/** The items of one Work stream, from their arrival to their answer. */
export class WorkItems {
  /** Namespace of the session. */
  namespace = "default";
  /** Who the worker is in it. */
  caller: Caller = nobodyYet;
  readonly #parts: WorkItemsParts;
  readonly #pending: Slots<Pending> = new Slots();

  constructor(parts: WorkItemsParts) {
    this.#parts = parts;
  }

  /** Items whose answers are awaited. */
  get size(): number {
    return this.#pending.size;
  }

  /** Begins the items of a message, kind by kind in the documented order. */
  handle(request: WorkRequestShape, prepared: Preparations | undefined): void {
    for (const item of request.steps) {
      this.#begin({ kind: "step", item }, prepared);
    }
    for (const item of request.observations) {
      this.#begin({ kind: "observation", item }, prepared);
    }
    for (const item of request.reconciliations) {
      this.#begin({ kind: "reconciliation", item }, prepared);
    }
    for (const item of request.intents) {
      this.#begin({ kind: "intent", item }, prepared);
    }
    for (const item of request.calls) {
      this.#begin({ kind: "call", item }, prepared);
    }
    for (const item of request.waits) {
      this.#begin({ kind: "wait", item }, prepared);
    }
    for (const item of request.obligations) {
      this.#begin({ kind: "obligation", item }, prepared);
    }
    for (const item of request.children) {
      this.#begin({ kind: "child", item }, prepared);
    }
    for (const item of request.reports) {
      this.#begin({ kind: "report", item }, prepared);
    }
    for (const item of request.suspends) {
      this.#begin({ kind: "suspend", item }, prepared);
    }
    for (const item of request.releases) {
      this.#begin({ kind: "release", item }, prepared);
    }
  }

  /** Tells what a command came to. */
  outcome(tag: number, outcome: Outcome): void {
    const pending = this.#pending.take(tag);
    if (pending === undefined) {
      return;
    }
    if (outcome.accepted) {
      this.#accept(pending, outcome);
    } else {
      this.#refuse(pending, outcome.rejection);
    }
  }

  /** What an item is turned into an order with; undefined when it names no lease and needs one. */
  partsOf(work: WorkItem): OrderParts | undefined {
    const { namespace } = this;
    const { handle } = work.item;
    const entry = this.#parts.handles.get(handle);
    const needsLease = work.kind !== "observation" || handle !== 0;
    return entry === undefined && needsLease
      ? undefined
      : { namespace, entry, prepared: undefined, plans: this.#parts.edge.plans };
  }

  #begin(work: WorkItem, prepared: Preparations | undefined): void {
    const { handle, leaseVersion, correlation } = work.item;
    const entry = this.#parts.handles.get(handle);
    const isObservation = work.kind === "observation";
    if (entry === undefined && !(isObservation && handle === 0)) {
      this.#parts.now.results.push({
        correlation,
        existing: false,
        rejection: rejectionShape(unknownHandle(handle, leaseVersion)),
      });
      return;
    }
    this.#parts.acknowledge(entry);
    if (entry?.held !== undefined) {
      // An earlier item may turn out to be refused; until that is known this one waits.
      entry.held.push(() => this.#begin(work, prepared));
      return;
    }
    if (!isObservation && entry?.refusal !== undefined && entry.leaseVersion === leaseVersion) {
      const rejection = rejectionShape(entry.refusal);
      this.#parts.now.results.push({ correlation, existing: false, rejection });
      return;
    }
    this.#execute({ work, entry }, prepared);
  }

  #execute(pending: Pending, prepared: Preparations | undefined): void {
    const { work, entry } = pending;
    const { edge, receiver } = this.#parts;
    try {
      const preparation = prepared?.get(work.item);
      if (preparation?.rejection !== undefined) {
        throw new RejectionError(preparation.rejection);
      }
      const parts = { namespace: this.namespace, entry, prepared: preparation, plans: edge.plans };
      const { target, command } = orderOf(work, parts);
      this.#parts.access.requireLive();
      const tag = this.#pending.add(pending);
      edge.kernel.execute(target, command, this.caller, { receiver, tag });
    } catch (error) {
      this.#answerRefusal(pending, this.#parts.toRejection(error), this.#parts.now);
    }
  }

  #accept({ work, entry }: Pending, outcome: Extract<Outcome, { accepted: true }>): void {
    const { correlation } = work.item;
    const { existing, step, intent, obligation } = outcome.reply;
    if (entry !== undefined && endsLease.has(work.kind)) {
      this.#parts.handles.end(entry.handle);
    }
    if (intent !== undefined) {
      const answer = intentAnswer(outcome.run, intent, outcome.runNumber);
      this.#parts.outbox.results.push({ correlation, existing, intent: answer });
    } else if (obligation !== undefined) {
      const answer = obligationAnswer(outcome.run, obligation);
      this.#parts.outbox.results.push({ correlation, existing, obligation: answer });
    } else if (!existing) {
      this.#parts.outbox.accepted.push(correlation);
    } else {
      const result: ItemResultShape = { correlation, existing };
      this.#parts.outbox.results.push(
        step === undefined ? result : { ...result, step: stepShape(step) },
      );
    }
  }

  #refuse(pending: Pending, rejection: Rejection): void {
    const { work, entry } = pending;
    if (work.kind === "step" && entry !== undefined && mayBeSameStep({ ...work, rejection })) {
      entry.held = [];
      void this.#reconsider(pending, entry, rejection);
    } else {
      this.#answerRefusal(pending, rejection, this.#parts.outbox);
    }
  }

  #answerRefusal({ work, entry }: Pending, rejection: Rejection, outbox: WorkOutbox): void {
    const { correlation } = work.item;
    outbox.results.push({ correlation, existing: false, rejection: rejectionShape(rejection) });
    if (
      entry !== undefined &&
      work.kind !== "observation" &&
      this.#parts.handles.refuse(entry, rejection)
    ) {
      outbox.refused.push(entry);
    }
  }

  async #reconsider(pending: Pending, entry: Handle, rejection: Rejection): Promise<void> {
    const { work } = pending;
    try {
      if (work.kind !== "step") {
        return;
      }
      const { target, task } = entry;
      const answer = await reconsiderStep(this.#parts.edge, {
        target,
        task,
        item: work.item,
        rejection,
      });
      if (answer.rejection === undefined) {
        this.#parts.now.results.push(answer);
      } else {
        this.#answerRefusal(pending, rejection, this.#parts.now);
      }
    } catch (error) {
      this.#answerRefusal(pending, this.#parts.toRejection(error), this.#parts.now);
    } finally {
      const held = entry.held ?? [];
      entry.held = undefined;
      for (const begin of held) {
        begin();
      }
      this.#parts.sendNow();
    }
  }
}

/** Kinds of items that end their lease when they are accepted. */
const endsLease: ReadonlySet<WorkItem["kind"]> = new Set(["report", "suspend", "release"]);

function unknownHandle(handle: number, held: number): Rejection {
  return {
    reason: "PAWL_LEASE_LOST",
    message:
      `Expected handle ${handle} to name a lease of this stream, but none has it: it has ended, or another stream holds it. ` +
      "Next: stop the attempt; nothing it reports counts any more.",
    detail: { case: "leaseLost", value: { held, current: 0, status: "", cause: "" } },
  };
}

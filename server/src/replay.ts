import { fromBinary } from "@bufbuild/protobuf";
import { decodeEvent } from "@pawl/proto/log/v1/event_wire.js";
import { ProposeActionRequestSchema } from "@pawl/proto/v1/approval_service_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import {
  decodeCallItem,
  decodeChildItem,
  decodeIntentItem,
  decodeObligationItem,
  decodeWaitItem,
  encodeItemResult,
  encodeOffer,
  type ItemResultShape,
} from "@pawl/proto/v1/worker_service_wire.js";
import { CorruptHistory } from "./core/apply/corrupt.js";
import { silentHooks } from "./core/apply/hooks.js";
import { apply, applyFirst } from "./core/apply.js";
import { localCaller, localStanding } from "./core/caller.js";
import type { Command } from "./core/command.js";
import { decide } from "./core/decide.js";
import type { Decision } from "./core/decision.js";
import type { EventBody } from "./core/event.js";
import { compileRecordedPlan } from "./core/plan/compile-recorded.js";
import { taskNumber } from "./core/plan/tasks-of-run.js";
import { illegalTransition, notFound, type Rejection } from "./core/rejection.js";
import { keepForEver } from "./core/retention.js";
import type { MutableRun } from "./core/state.js";
import { isTaskClosed } from "./core/transitions.js";
import { RejectionError } from "./kernel/outcome.js";
import { sha256 } from "./log/sha256.js";
import { proposeCommand } from "./rpc/commands/proposal.js";
import { PlanSource } from "./rpc/plan-source.js";
import { rejectionShape } from "./rpc/rejection-shape.js";
import type { Handle } from "./rpc/streams/handles.js";
import { offerShape } from "./rpc/streams/offer.js";
import { recordPage } from "./rpc/streams/records.js";
import { orderOf, type WorkItem } from "./rpc/streams/work-orders.js";
import { intentAnswer } from "./rpc/views/intent-view.js";
import { obligationAnswer } from "./rpc/views/obligation-view.js";
import { proposalId } from "./rpc/views/proposal-id.js";

/** An event of a history. */
export interface ReplayedEvent {
  /** Its place in the run, from 1 without gaps. */
  readonly number: number;
  /** When it was recorded, in ms since the Unix epoch. */
  readonly atMs: number;
  /** The event as it is stored, a `pawl.log.v1.Event`. */
  readonly stored: Uint8Array;
}

/** Which task of which run is replayed. */
export interface ReplayOptions {
  /** Name of the task. */
  readonly task: string;
  /** Number of the run in its store: it stands in the ids of proposals. */
  readonly runNumber: number;
}

/** What a worker may ask of a replay. */
export type ReplayedItem = "intent" | "call" | "wait" | "obligation" | "child";

/**
 * A run as its history says, with one task of it at work once more: its code may be given the records, and asked to say again what it did. Nothing is stored, and
 * nothing that is not recorded is allowed. The last incarnation counts.
 */
export class ReplayedRun {
  readonly #run: MutableRun;
  readonly #task: number;
  readonly #options: ReplayOptions;
  readonly #nowMs: number;
  readonly #plans = new PlanSource();

  /**
   * @throws RejectionError when the run has no such task.
   * @throws CorruptHistory when the events are not those of one run, from its first on, or of a type that this version does not know.
   */
  constructor(events: readonly ReplayedEvent[], options: ReplayOptions) {
    const { run, closedAt } = rebuild(events, options.task);
    // What happened after the end of the task, and the end itself, is no concern of its code.
    this.#run = closedAt === undefined ? run : rebuild(events.slice(0, closedAt), options.task).run;
    const number = taskNumber(this.#run, options.task);
    const task = number === undefined ? undefined : this.#run.tasks[number];
    if (number === undefined || task === undefined) {
      throw new RejectionError(notFound("task", options.task));
    }
    this.#task = number;
    this.#options = options;
    this.#nowMs = events.at(-1)?.atMs ?? 0;
    task.status = TaskStatus.LEASED;
    task.leaseVersion++;
    task.leasedAtMs = this.#nowMs;
    this.#run.status = RunStatus.RUNNING;
    this.#run.pause = undefined;
    this.#run.cancelRequestedAtMs = 0;
  }

  /** The `pawl.v1.Offer` that a worker would get now, records included. */
  offer(): Uint8Array {
    const { runNumber } = this.#options;
    const lease = { handle: 1, runNumber, task: this.#task, warmThrough: undefined };
    const shape = offerShape(lease, this.#run);
    if (shape === undefined) {
      throw new RejectionError(notFound("task", this.#options.task));
    }
    // No page is left out: there is no stream on which the rest could be read.
    let last = Math.max(0, ...[...shape.steps, ...shape.outcomes].map(({ number }) => number));
    for (let isMore = shape.moreSteps; isMore; ) {
      const page = recordPage(this.#run, this.#task, last, runNumber);
      shape.steps.push(...page.steps);
      shape.outcomes.push(...page.outcomes);
      last = page.last;
      isMore = page.hasMore;
    }
    return encodeOffer({ ...shape, moreSteps: false });
  }

  /** The `pawl.v1.ItemResult` of an item. What is not recorded is refused, `PAWL_ILLEGAL_TRANSITION`; an intent of it is held back; calls and waits of it are taken, and never end. */
  answer(kind: ReplayedItem, item: Uint8Array): Uint8Array {
    const work = readItem(kind, item);
    const { correlation } = work.item;
    const decision = this.#decide(() => {
      const target = {
        kind: "run",
        namespace: this.#run.namespace,
        runId: this.#run.runId,
      } as const;
      const entry: Handle = {
        ...{ handle: 1, target, task: this.#task, leaseVersion: this.#leaseVersion },
        ...{ isAcknowledged: true, hasEnded: false, refusal: undefined, refusalPing: 0 },
        ...{ sentThrough: 0, held: undefined },
      };
      const parts = { namespace: this.#run.namespace, prepared: undefined, plans: this.#plans };
      return orderOf(work, { ...parts, entry }).command;
    });
    return encodeItemResult({ correlation, existing: true, ...this.#resultOf(kind, decision) });
  }

  /** The id of the proposal that this `pawl.v1.ProposeActionRequest` is recorded as. @throws RejectionError when it is recorded otherwise, or not at all. */
  propose(request: Uint8Array): string {
    const { namespace, runId } = this.#run;
    const decision = this.#decide(() => {
      const target = { kind: "run", namespace, runId } as const;
      const lease = { target, task: this.#task, leaseVersion: this.#leaseVersion };
      const message = fromBinary(ProposeActionRequestSchema, request);
      return proposeCommand(message, { namespace, lease, digest: undefined });
    });
    if ("reason" in decision || !decision.accepted) {
      throw new RejectionError("reason" in decision ? decision : decision.rejection);
    }
    const { proposal } = decision.reply;
    if (decision.events.length > 0 || proposal === undefined) {
      throw new RejectionError(notRecorded("propose an action"));
    }
    return proposalId(this.#options.runNumber, proposal.number);
  }

  get #leaseVersion(): number {
    return this.#run.tasks[this.#task]?.leaseVersion ?? 0;
  }

  #decide(make: () => Command): Decision | Rejection {
    try {
      const command = make();
      if (command.kind === "StartRun") {
        return notRecorded("start a run");
      }
      const { runNumber } = this.#options;
      const chance = {
        random: () => 0,
        sha256,
        standingOf: localStanding,
        currentVersion: () => 0,
        retentionOf: () => keepForEver,
      };
      return decide(this.#run, command, {
        ...localCaller,
        ...chance,
        ...{ nowMs: this.#nowMs, runNumber },
      });
    } catch (error) {
      if (error instanceof RejectionError) {
        return error.rejection;
      }
      throw error;
    }
  }

  #resultOf(kind: ReplayedItem, decision: Decision | Rejection): Partial<ItemResultShape> {
    if ("reason" in decision) {
      return { rejection: rejectionShape(decision) };
    }
    if (!decision.accepted) {
      return { rejection: rejectionShape(decision.rejection) };
    }
    const { intent, obligation } = decision.reply;
    const { runNumber } = this.#options;
    switch (kind) {
      case "intent": {
        if (intent?.case === "reuse") {
          return { intent: intentAnswer(this.#run, intent, runNumber) };
        }
        const key = intent?.operationKey ?? "";
        return { intent: { answer: { case: "heldBack", value: { key } } } };
      }
      case "obligation":
      case "child":
        return decision.events.length > 0 || obligation === undefined
          ? { rejection: rejectionShape(notRecorded("ask another run for something")) }
          : { obligation: obligationAnswer(this.#run, obligation) };
      default:
        return {};
    }
  }
}

function notRecorded(command: string): Rejection {
  const parts = { entity: "replay", status: "at the end of its records", command, legal: [] };
  return illegalTransition("PAWL_ILLEGAL_TRANSITION", parts);
}

function readItem(kind: ReplayedItem, item: Uint8Array): Exclude<WorkItem, { kind: "report" }> {
  switch (kind) {
    case "intent":
      return { kind, item: decodeIntentItem(item) };
    case "call":
      return { kind, item: decodeCallItem(item) };
    case "wait":
      return { kind, item: decodeWaitItem(item) };
    case "obligation":
      return { kind, item: decodeObligationItem(item) };
    case "child":
      return { kind, item: decodeChildItem(item) };
  }
}

/** The state that the events make, and the place of the event that ended the task in its last incarnation; undefined: it has not ended. */
function rebuild(
  events: readonly ReplayedEvent[],
  taskName: string,
): { readonly run: MutableRun; readonly closedAt: number | undefined } {
  let run: MutableRun | undefined;
  let closedAt: number | undefined;
  for (const [index, { number, atMs, stored }] of events.entries()) {
    const known = readBody(stored, number);
    if (run === undefined) {
      run = applyFirst(known, { number, atMs }, compileRecordedPlan, silentHooks);
    } else {
      apply(run, known, { number, atMs }, silentHooks);
    }
    const task = taskNumber(run, taskName);
    const state = task === undefined ? undefined : run.tasks[task];
    const isClosed = state !== undefined && isTaskClosed(state.status);
    closedAt = isClosed ? (closedAt ?? index) : undefined;
  }
  if (run === undefined) {
    throw new CorruptHistory("the events of a run", "there is none");
  }
  return { run, closedAt };
}

/** The body of an event, or why its bytes are none. */
function decodeBody(stored: Uint8Array): ReturnType<typeof decodeEvent>["body"] | string {
  try {
    return decodeEvent(stored).body;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function readBody(stored: Uint8Array, number: number): EventBody {
  const body = decodeBody(stored);
  if (typeof body === "string") {
    throw new CorruptHistory(`event ${number} as it is stored`, `it cannot be read (${body})`);
  }
  if (body.case === undefined) {
    throw new CorruptHistory(
      `event ${number} to be of a type that this version knows`,
      "only a later one does",
    );
  }
  return body;
}

import type {
  AwaitedResultShape,
  AwaitRunShape,
  StartRunResultShape,
  StartRunShape,
  SubmitRequestShape,
  SubmitSignalShape,
} from "@pawl/proto/v1/run_service_wire.js";
import type { StartRun } from "../../core/command.js";
import { originalInput } from "../../core/continued.js";
import { limits } from "../../core/limits.js";
import { invalidField, type Rejection } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import { type Outcome, type Receiver, RejectionError } from "../../kernel/outcome.js";
import type { StreamAccess } from "../access/stream-access.js";
import { hasPolicy, startCommand } from "../commands/start-run.js";
import type { Edge } from "../edge.js";
import { rejectionShape } from "../rejection-shape.js";
import { isSameJson, mayBeSame } from "../same-json.js";
import { readNamespace, requireId } from "../validate/fields.js";
import { resultShape } from "../views/result-view.js";
import { Slots } from "./slots.js";
import { signalAnswer, signalOrder, targetOf } from "./submit-orders.js";
import type { SubmitOutbox } from "./submit-outbox.js";
import type { Admitted, SubmitPreparations } from "./submit-preparation.js";

/** What is awaited: the answer to a start, or the end of a run. */
interface Pending {
  readonly correlation: number;
  readonly namespace: string;
  readonly runId: string;
  /** The start; undefined once it is accepted and its end is awaited, or for a plain wait. */
  start: StartRun | undefined;
  /** Input as received: what is recorded may be a reference. */
  input: Uint8Array | undefined;
  readonly wait: boolean;
  cancel: (() => void) | undefined;
}

/** A signal whose answer is awaited. */
interface SentSignal {
  readonly signal: number;
}

/** What the items of a stream need of it. */
export interface SubmitItemsParts {
  readonly edge: Edge;
  readonly access: StreamAccess;
  /** Told of outcomes and released; it hands the outcomes on to `outcome`. */
  readonly receiver: Receiver;
  /** What is held back until it is durable. */
  readonly outbox: SubmitOutbox;
  /** What depends on nothing that must be durable. */
  readonly now: SubmitOutbox;
  readonly sendNow: () => void;
  readonly toRejection: (error: unknown) => Rejection;
}

/** The starts, signals and waits of one Submit stream, from their arrival to their answer. */
export class SubmitItems {
  readonly #parts: SubmitItemsParts;
  readonly #pending: Slots<Pending | SentSignal> = new Slots();
  /** Starts and signals that were handed over and are not yet answered. */
  #unanswered = 0;
  #isGone = false;

  constructor(parts: SubmitItemsParts) {
    this.#parts = parts;
  }

  /** Items whose answers are awaited. */
  get size(): number {
    return this.#pending.size;
  }

  /** Starts and signals that were handed over and are not yet answered: a stream that goes away answers them first. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** Begins the items of a message, kind by kind in the documented order. */
  handle(request: SubmitRequestShape, prepared: SubmitPreparations | undefined): void {
    const { starts, signals, waits } = request;
    for (let index = 0; index < starts.length; index++) {
      const item = starts[index];
      if (item !== undefined) {
        this.#start(request.namespace, item, index, prepared?.inputs[index]);
      }
    }
    for (let index = 0; index < signals.length; index++) {
      const item = signals[index];
      if (item !== undefined) {
        this.#signal(request.namespace, item, index, prepared?.payloads[index]);
      }
    }
    for (let index = 0; index < waits.length; index++) {
      const item = waits[index];
      if (item !== undefined) {
        this.#awaitRun(request.namespace, item, index);
      }
    }
  }

  /** Tells what a command or a wait came to. */
  outcome(tag: number, outcome: Outcome): void {
    const pending = this.#pending.get(tag);
    if (pending === undefined || this.#isGone) {
      return;
    }
    if ("signal" in pending) {
      this.#pending.take(tag);
      this.#unanswered--;
      this.#parts.outbox.signals.push(signalAnswer(pending.signal, outcome));
    } else if (pending.start === undefined) {
      this.#pending.take(tag);
      this.#parts.outbox.results.push(awaitedResult(pending.correlation, outcome));
    } else {
      this.#answerStart(tag, pending, outcome);
    }
  }

  /** The stream is gone: nothing is awaited any more. */
  gone(): void {
    this.#isGone = true;
    for (const pending of this.#pending.values()) {
      if (!("signal" in pending)) {
        pending.cancel?.();
      }
    }
  }

  #start(namespaceField: string, item: StartRunShape, index: number, admitted: Admitted): void {
    const { correlation } = item;
    const { edge, access, receiver } = this.#parts;
    try {
      const input = bytesOf(admitted);
      requireRoom("starts", index);
      const caller = access.callerIn(namespaceField);
      const namespace = readNamespace(namespaceField);
      const command = startCommand(item, namespace, edge.plans);
      const recorded = input === undefined ? command : { ...command, input };
      const tag = this.#pending.add({
        correlation,
        namespace,
        runId: item.runId,
        start: recorded,
        input: item.input,
        wait: item.wait,
        cancel: undefined,
      });
      this.#unanswered++;
      const target = targetOf(namespace, item.runId);
      edge.kernel.execute(target, recorded, caller, { receiver, tag });
    } catch (error) {
      const rejection = rejectionShape(this.#parts.toRejection(error));
      this.#parts.now.started.push({ ...refusedStart, correlation, rejection });
    }
  }

  #signal(
    namespaceField: string,
    item: SubmitSignalShape,
    index: number,
    admitted: Admitted,
  ): void {
    const { correlation } = item;
    const { edge, access, receiver } = this.#parts;
    try {
      const payload = bytesOf(admitted);
      requireRoom("signals", index);
      const caller = access.callerIn(namespaceField);
      const { target, command } = signalOrder(item, readNamespace(namespaceField), payload);
      const tag = this.#pending.add({ signal: correlation });
      this.#unanswered++;
      edge.kernel.execute(target, command, caller, { receiver, tag });
    } catch (error) {
      const rejection = rejectionShape(this.#parts.toRejection(error));
      this.#parts.now.signals.push({ correlation, existing: false, version: 0, rejection });
    }
  }

  #awaitRun(namespaceField: string, item: AwaitRunShape, index: number): void {
    const { correlation, runId } = item;
    try {
      requireRoom("waits", index);
      this.#parts.access.callerIn(namespaceField);
      const namespace = readNamespace(namespaceField);
      requireId("run_id", runId, "run_id");
      const pending: Pending = {
        correlation,
        namespace,
        runId,
        start: undefined,
        input: undefined,
        wait: true,
        cancel: undefined,
      };
      this.#await(this.#pending.add(pending), pending);
    } catch (error) {
      const rejection = rejectionShape(this.#parts.toRejection(error));
      this.#parts.now.results.push({ correlation, rejection });
    }
  }

  #await(tag: number, pending: Pending): void {
    const { edge, receiver } = this.#parts;
    const target = targetOf(pending.namespace, pending.runId);
    const waiting = edge.kernel.awaitRun(target, { receiver, tag });
    // One that had ended already is answered within the call, and its slot is free again.
    if (this.#pending.get(tag) === pending) {
      pending.cancel = () => waiting.cancel();
    }
  }

  #answerStart(tag: number, pending: Pending, outcome: Outcome): void {
    const { correlation, input } = pending;
    const { outbox } = this.#parts;
    if (outcome.accepted) {
      this.#unanswered--;
      const { existing } = outcome.reply;
      if (existing || outcome.run.incarnation > 1) {
        outbox.started.push(startedRun(correlation, outcome.run, existing));
      } else {
        outbox.accepted.push(correlation);
      }
      this.#afterStart(tag, pending);
    } else if (mayBeSame(outcome.rejection, input) && input !== undefined) {
      void this.#reconsider(tag, pending, input, outcome.rejection);
    } else {
      this.#unanswered--;
      this.#pending.take(tag);
      const rejection = rejectionShape(outcome.rejection);
      outbox.started.push({ ...refusedStart, correlation, rejection });
    }
  }

  #afterStart(tag: number, pending: Pending): void {
    if (pending.wait) {
      pending.start = undefined;
      this.#await(tag, pending);
    } else {
      this.#pending.take(tag);
    }
  }

  /**
   * The inputs differ in their bytes; as JSON documents they may be the same, and then the run exists. What is to become of it is
   * decided by the start's policy, which is asked again with the fingerprint that is recorded.
   */
  async #reconsider(
    tag: number,
    pending: Pending,
    received: Uint8Array,
    rejection: Rejection,
  ): Promise<void> {
    const { correlation } = pending;
    const { edge, now } = this.#parts;
    let answer: StartRunResultShape = {
      ...refusedStart,
      correlation,
      rejection: rejectionShape(rejection),
    };
    try {
      const target = targetOf(pending.namespace, pending.runId);
      const found = await edge.kernel.view(target, (run) => ({
        recorded: originalInput(run),
        fingerprint: run.fingerprint,
        existing: startedRun(correlation, run, true),
      }));
      const { recorded, fingerprint } = found;
      if (recorded !== undefined && (await isSameJson(edge, { target, recorded, received }))) {
        const { start } = pending;
        if (start !== undefined && hasPolicy(start) && !this.#isGone) {
          pending.input = undefined;
          const { access, receiver } = this.#parts;
          const caller = access.callerIn(pending.namespace);
          edge.kernel.execute(target, { ...start, fingerprint }, caller, { receiver, tag });
          return;
        }
        answer = found.existing;
      }
    } catch (error) {
      answer = { ...answer, rejection: rejectionShape(this.#parts.toRejection(error)) };
    }
    this.#unanswered--;
    if (answer.existing && !this.#isGone) {
      this.#afterStart(tag, pending);
    } else {
      this.#pending.take(tag);
    }
    now.started.push(answer);
    this.#parts.sendNow();
  }
}

const refusedStart = { existing: false, version: 0, incarnation: 0 } as const;

/** Large content that was stored. @throws RejectionError why it was not. */
function bytesOf(admitted: Admitted): Uint8Array | undefined {
  if (admitted !== undefined && "reason" in admitted) {
    throw new RejectionError(admitted);
  }
  return admitted;
}

function startedRun(correlation: number, run: Run, existing: boolean): StartRunResultShape {
  return { correlation, existing, version: run.version, incarnation: run.incarnation };
}

function awaitedResult(correlation: number, outcome: Outcome): AwaitedResultShape {
  return outcome.accepted
    ? { correlation, result: resultShape(outcome.run) }
    : { correlation, rejection: rejectionShape(outcome.rejection) };
}

function requireRoom(field: string, index: number): void {
  if (index >= limits.batchItemsMax) {
    const expected = `at most ${limits.batchItemsMax} items in a message`;
    throw new RejectionError(invalidField(field, expected, `item ${index + 1}`));
  }
}

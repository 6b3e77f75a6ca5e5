import {
  type AwaitedResultShape,
  type AwaitRunShape,
  decodeSubmitRequest,
  type StartRunResultShape,
  type StartRunShape,
  type SubmitRequestShape,
  writeAwaitedResult,
  writeStartRunResult,
} from "@pawl/proto/v1/run_service_wire.js";
import { WireError } from "@pawl/proto/wire/wire-error.js";
import type { StartRun } from "../../core/command.js";
import { limits } from "../../core/limits.js";
import { invalidField, type Rejection } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import { type Outcome, type Receiver, RejectionError, type Target } from "../../kernel/outcome.js";
import { admit, isLarge } from "../admission.js";
import { startCommand } from "../commands/start-run.js";
import type { Edge } from "../edge.js";
import { rejectionOf } from "../fault.js";
import type { OpenCall } from "../lifecycle.js";
import { unavailable, unreadable } from "../refusals.js";
import { rejectionShape } from "../rejection-shape.js";
import { isSameJson, mayBeSame } from "../same-json.js";
import { readNamespace, requireId } from "../validate/fields.js";
import { resultShape } from "../views/result-view.js";
import type { ByteStream, ByteStreamListener } from "./byte-stream.js";
import { Inbox } from "./inbox.js";
import { SealedMessages } from "./sealed-messages.js";
import { Slots } from "./slots.js";

/** Tags of SubmitResponse: field number and wire type. */
const tags = { accepted: 10, started: 18, results: 26, position: 34 } as const;

/** What is awaited: the answer to a start, or the end of a run. */
interface Pending {
  readonly correlation: number;
  readonly namespace: string;
  readonly runId: string;
  /** The start; undefined once it is accepted and its end is awaited, or for a plain wait. */
  start: StartRun | undefined;
  /** Input as received: what is recorded may be a reference. */
  readonly input: Uint8Array | undefined;
  readonly wait: boolean;
  cancel: (() => void) | undefined;
}

/** Answers that wait to be sealed. */
interface Outbox {
  accepted: number[];
  started: StartRunResultShape[];
  results: AwaitedResultShape[];
}

/**
 * One Submit stream: starts and waits in, answers and results out. An item's answer is computed at its decision and sent in one
 * message with all others of its turn.
 */
export class SubmitStream implements Receiver, ByteStreamListener, OpenCall {
  readonly #edge: Edge;
  readonly #stream: ByteStream;
  readonly #principal: string;
  readonly #pending: Slots<Pending> = new Slots();
  readonly #sealed: SealedMessages = new SealedMessages(tags.position);
  readonly #inbox: Inbox<SubmitRequestShape>;
  #outbox: Outbox = { accepted: [], started: [], results: [] };
  #position: Uint8Array = new Uint8Array(0);
  /** Starts that were handed over and are not yet answered. */
  #unanswered = 0;
  #isHalfClosed = false;
  #isDraining = false;
  #isGone = false;

  constructor(edge: Edge, stream: ByteStream, principal: string) {
    this.#edge = edge;
    this.#stream = stream;
    this.#principal = principal;
    this.#inbox = new Inbox(
      stream,
      (request) => this.#handle(request),
      (error) => this.#fault(error),
    );
    edge.lifecycle.add(this);
  }

  message(bytes: Uint8Array): void {
    let request: SubmitRequestShape;
    try {
      request = decodeSubmitRequest(bytes);
    } catch (error) {
      if (error instanceof WireError) {
        this.#fail(unreadable("pawl.v1.SubmitRequest", error));
        return;
      }
      throw error;
    }
    this.#inbox.push(request);
  }

  drained(): void {
    this.#inbox.roomAgain();
  }

  halfClosed(): void {
    this.#isHalfClosed = true;
    this.#endWhenDone();
  }

  gone(): void {
    if (!this.#isGone) {
      this.#isGone = true;
      for (const pending of this.#pending.values()) {
        pending.cancel?.();
      }
      this.#edge.lifecycle.remove(this);
    }
  }

  /** Starts that were handed over are still answered; whoever awaits a result asks the next kernel. */
  drain(): void {
    this.#isDraining = true;
    this.#inbox.close();
    this.#endWhenDone();
  }

  abort(rejection: Rejection): void {
    this.#fail(rejection);
  }

  outcome(tag: number, outcome: Outcome): void {
    const pending = this.#pending.get(tag);
    if (pending === undefined || this.#isGone) {
      return;
    }
    if (pending.start === undefined) {
      this.#pending.take(tag);
      this.#outbox.results.push(awaitedResult(pending.correlation, outcome));
    } else {
      this.#answerStart(tag, pending, outcome);
    }
  }

  prepare(): void {
    const { accepted, started, results } = this.#outbox;
    const { writer } = this.#sealed;
    if (accepted.length > 0) {
      writer.tag(tags.accepted);
      const at = writer.begin();
      for (const correlation of accepted) {
        writer.varint32(correlation);
      }
      writer.end(at);
    }
    for (const answer of started) {
      writer.tag(tags.started);
      const at = writer.begin();
      writeStartRunResult(writer, answer);
      writer.end(at);
      this.#sealed.cut();
    }
    for (const result of results) {
      writer.tag(tags.results);
      const at = writer.begin();
      writeAwaitedResult(writer, result);
      writer.end(at);
      this.#sealed.cut();
    }
    this.#outbox = { accepted: [], started: [], results: [] };
  }

  release(position: Uint8Array): void {
    this.#position = position;
    if (!this.#sealed.isEmpty && !this.#isGone) {
      this.#send();
    }
    this.#endWhenDone();
  }

  #send(): void {
    for (const message of this.#sealed.take(this.#position)) {
      if (!this.#stream.write(message)) {
        this.#inbox.noRoom();
      }
    }
  }

  /** Sends what was decided outside a turn of the kernel and is durable already. */
  #sendNow(outbox: Partial<Outbox>): void {
    if (this.#isGone) {
      return;
    }
    const gathering = this.#outbox;
    this.#outbox = { accepted: [], started: [], results: [], ...outbox };
    if (this.#sealed.isEmpty) {
      this.prepare();
      this.#send();
    } else {
      // A turn is being synced: what is durable already travels with it.
      this.prepare();
    }
    this.#outbox = gathering;
  }

  /** A promise is awaited first when a large input must be stored before the event that names it. */
  #handle(request: SubmitRequestShape): Promise<void> | undefined {
    const { starts } = request;
    return starts.some(({ input }) => isLarge(input))
      ? this.#admitAll(request)
      : this.#execute(request, undefined);
  }

  async #admitAll(request: SubmitRequestShape): Promise<void> {
    const inputs = await Promise.all(
      request.starts.map(async (item) => {
        try {
          requireId("run_id", item.runId, "run_id");
          const target = this.#target(readNamespace(request.namespace), item.runId);
          return await admit(this.#edge, target, item.input, "input");
        } catch (error) {
          return this.#toRejection(error);
        }
      }),
    );
    this.#execute(request, inputs);
  }

  #execute(
    request: SubmitRequestShape,
    inputs: readonly (Uint8Array | Rejection | undefined)[] | undefined,
  ): undefined {
    const { starts, waits } = request;
    for (let index = 0; index < starts.length; index++) {
      const item = starts[index];
      if (item !== undefined) {
        this.#start(request.namespace, item, index, inputs?.[index]);
      }
    }
    for (let index = 0; index < waits.length; index++) {
      const item = waits[index];
      if (item !== undefined) {
        this.#awaitRun(request.namespace, item, index);
      }
    }
    this.#flushRefusals();
    return undefined;
  }

  #start(
    namespaceField: string,
    item: StartRunShape,
    index: number,
    input: Uint8Array | Rejection | undefined,
  ): void {
    const { correlation } = item;
    try {
      if (input !== undefined && "reason" in input) {
        throw new RejectionError(input);
      }
      requireRoom("starts", index);
      const namespace = readNamespace(namespaceField);
      const command = startCommand(item, namespace, this.#edge.plans);
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
      const to = { receiver: this, tag };
      this.#edge.kernel.execute(this.#target(namespace, item.runId), recorded, this.#principal, to);
    } catch (error) {
      this.#refuse(correlation, this.#toRejection(error));
    }
  }

  #awaitRun(namespaceField: string, item: AwaitRunShape, index: number): void {
    const { correlation, runId } = item;
    try {
      requireRoom("waits", index);
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
      const rejection = rejectionShape(this.#toRejection(error));
      this.#refusals.results.push({ correlation, rejection });
    }
  }

  #await(tag: number, pending: Pending): void {
    const target = this.#target(pending.namespace, pending.runId);
    const waiting = this.#edge.kernel.awaitRun(target, { receiver: this, tag });
    // One that had ended already is answered within the call, and its slot is free again.
    if (this.#pending.get(tag) === pending) {
      pending.cancel = () => waiting.cancel();
    }
  }

  #answerStart(tag: number, pending: Pending, outcome: Outcome): void {
    const { correlation, input } = pending;
    if (outcome.accepted) {
      this.#unanswered--;
      if (outcome.reply.existing) {
        this.#outbox.started.push(existingStart(correlation, outcome.run));
      } else {
        this.#outbox.accepted.push(correlation);
      }
      this.#afterStart(tag, pending);
    } else if (mayBeSame(outcome.rejection, input) && input !== undefined) {
      void this.#reconsider(tag, pending, input, outcome.rejection);
    } else {
      this.#unanswered--;
      this.#pending.take(tag);
      const rejection = rejectionShape(outcome.rejection);
      this.#outbox.started.push({ ...refusedStart, correlation, rejection });
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

  /** The inputs differ in their bytes; as JSON documents they may be the same, and then the run exists. */
  async #reconsider(
    tag: number,
    pending: Pending,
    received: Uint8Array,
    rejection: Rejection,
  ): Promise<void> {
    const { correlation } = pending;
    let answer: StartRunResultShape = {
      ...refusedStart,
      correlation,
      rejection: rejectionShape(rejection),
    };
    try {
      const target = this.#target(pending.namespace, pending.runId);
      const found = await this.#edge.kernel.view(target, (run) => ({
        recorded: run.input,
        existing: existingStart(correlation, run),
      }));
      const { recorded } = found;
      if (
        recorded !== undefined &&
        (await isSameJson(this.#edge, { target, recorded, received }))
      ) {
        answer = found.existing;
      }
    } catch (error) {
      answer = { ...answer, rejection: rejectionShape(this.#toRejection(error)) };
    }
    this.#unanswered--;
    this.#sendNow({ started: [answer] });
    if (answer.existing && !this.#isGone) {
      this.#afterStart(tag, pending);
    } else {
      this.#pending.take(tag);
    }
    this.#endWhenDone();
  }

  /** Refusals of the edge itself: they depend on nothing that must be durable. */
  readonly #refusals: Pick<Outbox, "started" | "results"> = { started: [], results: [] };

  #refuse(correlation: number, rejection: Rejection): void {
    this.#refusals.started.push({
      ...refusedStart,
      correlation,
      rejection: rejectionShape(rejection),
    });
  }

  #flushRefusals(): void {
    const { started, results } = this.#refusals;
    if (started.length > 0 || results.length > 0) {
      this.#sendNow({ started: [...started], results: [...results] });
      started.length = 0;
      results.length = 0;
    }
  }

  #target(namespace: string, runId: string): Target {
    return { kind: "run", namespace, runId };
  }

  #toRejection(error: unknown): Rejection {
    return rejectionOf(this.#edge, error, "Submit") ?? unavailable("the caller has gone");
  }

  #fault(error: unknown): void {
    this.#fail(this.#toRejection(error));
  }

  #fail(rejection: Rejection): void {
    if (!this.#isGone) {
      this.gone();
      this.#stream.fail(rejection);
    }
  }

  #endWhenDone(): void {
    if (this.#isGone || this.#unanswered > 0 || !this.#sealed.isEmpty || !this.#inbox.isIdle) {
      return;
    }
    const { accepted, started, results } = this.#outbox;
    if (accepted.length + started.length + results.length > 0) {
      return;
    }
    if (this.#isDraining) {
      this.#fail(unavailable("it is going away"));
    } else if (this.#isHalfClosed && this.#pending.size === 0) {
      this.gone();
      this.#stream.end();
    }
  }
}

const refusedStart = { existing: false, version: 0, incarnation: 0 } as const;

function existingStart(correlation: number, run: Run): StartRunResultShape {
  return { correlation, existing: true, version: run.version, incarnation: run.incarnation };
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

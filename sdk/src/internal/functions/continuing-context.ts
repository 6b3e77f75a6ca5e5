import type { OperationRequest } from "@pawl/proto/v1/operation_pb.js";
import type { WaitOutcome } from "@pawl/proto/v1/worker_service_pb.js";
import { Draining } from "../../abort-reasons.js";
import type { Call } from "../../cancel-mode.js";
import type { PerformOptions } from "../../context.js";
import type { Operation } from "../../operation.js";
import type { TaskRef } from "../../task.js";
import type { CallOptions, WorkflowContext } from "../../workflow-context.js";
import { never } from "../attempt-state.js";
import { encodeValue } from "../codec.js";
import { openCallsError } from "../open-calls.js";
import { quiet } from "../quiet.js";
import { attemptEnd, errorFromRejection, isAttemptOver } from "../rejection.js";
import type { StepToMake } from "../steps.js";
import { validate } from "../validate.js";
import type { WaitCall } from "../waits.js";
import { FittedContext } from "./fitted-context.js";
import { currentScope } from "./scopes.js";

/** So many `ctx` calls in one incarnation are enough: every one is read again when the function's memory is lost. */
const CALLS_ENOUGH = 10_000;

/** The `ctx` of a workflow function at work: one that may end by going on as another incarnation. */
export class ContinuingContext extends FittedContext implements WorkflowContext {
  #begun = 0;

  get continueSuggested(): boolean {
    return this.#begun >= CALLS_ENOUGH;
  }

  continueAsNew(input?: unknown): Promise<never> {
    const { state } = this.options;
    if (state.dropsCall() || currentScope(this)?.isGivenUp === true) return never();
    return quiet(this.atOnce(() => this.#continueAsNew(input)));
  }

  async #continueAsNew(input: unknown): Promise<never> {
    const { state, lease, port, offer, inputSchema, onContinued } = this.options;
    const what = "ctx.continueAsNew";
    const misplaced = this.insideStep(what);
    if (misplaced !== undefined) throw misplaced;
    state.assertUsable(what);
    if (state.reason !== undefined && !(state.reason instanceof Draining)) throw state.reason;
    const open = [...this.openWork, ...this.unanswered];
    if (open.length > 0) throw openCallsError(offer.task, open, "continue as new");
    const name = `the input of run "${offer.runId}"`;
    if (inputSchema !== undefined) {
      // Only a check: the next incarnation transforms what was sent, as the first one did.
      await validate(inputSchema, input, name, false);
    }
    const payload = encodeValue(input, name);
    await this.rollbacks.declared();
    // As before a return: what was called fits the records, and nothing recorded was left behind.
    await this.callsAnswered();
    await this.assertReached();
    state.assertUsable(what);
    const { rejection } = await port.continueRun(lease, payload, state.seenThrough);
    if (rejection === undefined) {
      this.fallAsleep();
      onContinued();
      return never();
    }
    if (!isAttemptOver(rejection)) throw errorFromRejection(rejection);
    const ended = attemptEnd(rejection);
    lease.isOver = true;
    state.end(ended);
    throw ended;
  }

  protected override makeStep<T>(step: StepToMake): Promise<T> {
    this.#begun++;
    return super.makeStep(step);
  }

  protected override performAs<Result>(
    operation: Operation,
    options: Pick<PerformOptions, "scope" | "key">,
    makeRequest: () => Promise<OperationRequest>,
  ): Promise<Result> {
    this.#begun++;
    return super.performAs(operation, options, makeRequest);
  }

  protected override waitFor<T>(
    make: () => WaitCall,
    read: (outcome: WaitOutcome) => T | Promise<T>,
  ): Promise<T> {
    this.#begun++;
    return super.waitFor(make, read);
  }

  override call<Sent, Output>(
    task: TaskRef<Sent, Output>,
    input?: Sent,
    options: CallOptions = {},
  ): Promise<Output> {
    this.#begun++;
    return super.call(task, input, options);
  }

  override startCall<Sent, Output>(
    task: TaskRef<Sent, Output>,
    input?: Sent,
    options: CallOptions = {},
  ): Call<Output> {
    this.#begun++;
    return super.startCall(task, input, options);
  }
}

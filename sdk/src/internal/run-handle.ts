import { randomUUID } from "node:crypto";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type RunResult,
  RunStatus,
  type Run as RunView,
  type Task as TaskView,
} from "@pawl/proto/v1/run_pb.js";
import { PawlError, RunCancelled, RunFailed, RunTerminated } from "../errors.js";
import type { SignalAnswer, SignalOptions } from "../messages.js";
import type { OutputEvent, OutputOptions } from "../output.js";
import type {
  NewPlan,
  PlanVersionInfo,
  RevisePlanOptions,
  RevisionAnswer,
  RunPlan,
} from "../plan-versions.js";
import type { Published, PublishedInfo, Query } from "../queries.js";
import type { RetryRunOptions, RewindAnswer, RewindOptions } from "../rewind.js";
import type {
  DeleteAnswer,
  DeleteOptions,
  EndAnswer,
  EndOptions,
  Run,
  RunEvent,
  WaitOptions,
  WatchOptions,
} from "../run.js";
import type { Schema } from "../schema.js";
import type { ShownTask, TaskChange, TaskChangeAnswer } from "../task-change.js";
import type { Update, UpdateOptions } from "../updates.js";
import type { ClientCore } from "./client-core.js";
import { decodePayload, encodeValue } from "./codec.js";
import { fromFailure } from "./failure.js";
import { retryRequest, rewindAnswer, rewindRequest } from "./go-back.js";
import { checkId } from "./ids.js";
import { loadPayload } from "./load-payload.js";
import { RunPlans } from "./plan-versions.js";
import { readOutput } from "./read-output.js";
import { RunMessages } from "./run-messages.js";
import { sendSignal } from "./send-signal.js";
import type { StartAnswer, SubmitStream } from "./submit-stream.js";
import { buildTaskChange } from "./task-change-message.js";
import { callUnary } from "./unary.js";
import { waitFor } from "./wait-for.js";
import { watchRun } from "./watch-run.js";

/** A run as its starter, or anyone who knows its id, holds it. */
export class RunHandle<Output> implements Run<Output> {
  readonly runId: string;
  readonly #core: ClientCore;
  readonly #submit: SubmitStream;
  #answer: StartAnswer | undefined;
  #result: Promise<RunResult> | undefined;

  /** @param result The awaited result, when the start asked for it. */
  constructor(core: ClientCore, submit: SubmitStream, runId: string, result?: Promise<RunResult>) {
    this.#core = core;
    this.#submit = submit;
    this.runId = runId;
    this.#result = result;
  }

  get existing(): boolean | undefined {
    return this.#answer?.existing;
  }

  get incarnation(): number | undefined {
    return this.#answer?.incarnation;
  }

  /** The start was acknowledged. */
  started(answer: StartAnswer): void {
    this.#answer = answer;
  }

  async result(options: WaitOptions = {}): Promise<Output> {
    this.#result ??= this.#awaitResult();
    const what = `the result of run "${this.runId}"`;
    const result = await waitFor(this.#result, options, what, this.#core.monitor);
    const failure = result.failure === undefined ? undefined : fromFailure(result.failure);
    switch (result.status) {
      case RunStatus.COMPLETED:
        return (await this.#decode(result)) as Output;
      case RunStatus.FAILED:
        throw new RunFailed(this.runId, failure);
      case RunStatus.CANCELLED:
        throw new RunCancelled(this.runId, failure);
      case RunStatus.TERMINATED:
        throw new RunTerminated(this.runId, failure);
      default:
        throw new PawlError(
          "PAWL_UNKNOWN_ANSWER",
          `Expected run "${this.runId}" to have ended in a way that this SDK knows, but it is ${result.status}. Update @pawl/sdk.`,
        );
    }
  }

  watch(options: WatchOptions = {}): AsyncIterable<RunEvent> {
    return watchRun(this.#core, this.runId, options);
  }

  output<T = unknown>(options: OutputOptions = {}): AsyncIterable<OutputEvent<T>> {
    return readOutput<T>(this.#core, this.runId, options);
  }

  async cancel(options: EndOptions = {}): Promise<EndAnswer> {
    const { api } = this.#core;
    const request = this.#endRequest(options);
    return callUnary((call) => api.runs.cancelRun(request, call), this.#core.unary());
  }

  async pause(options: EndOptions = {}): Promise<EndAnswer> {
    const { api } = this.#core;
    const request = this.#endRequest(options);
    return callUnary((call) => api.runs.pauseRun(request, call), this.#core.unary());
  }

  async resume(options: EndOptions = {}): Promise<EndAnswer> {
    const { api } = this.#core;
    const request = this.#endRequest(options);
    return callUnary((call) => api.runs.resumeRun(request, call), this.#core.unary());
  }

  async terminate(options: EndOptions = {}): Promise<EndAnswer> {
    const { api } = this.#core;
    const request = this.#endRequest(options);
    return callUnary((call) => api.runs.terminateRun(request, call), this.#core.unary());
  }

  async delete({ dryRun = false, ...options }: DeleteOptions = {}): Promise<DeleteAnswer> {
    const { api } = this.#core;
    const request = { ...this.#endRequest(options), dryRun };
    const { existing, tombstoneUntil } = await callUnary(
      (call) => api.runs.deleteRun(request, call),
      this.#core.unary(),
    );
    return { existing, tombstoneUntil: tombstoneUntil && timestampDate(tombstoneUntil) };
  }

  async rewind(options: RewindOptions): Promise<RewindAnswer> {
    const { api, namespace } = this.#core;
    const request = rewindRequest({ namespace, runId: this.runId }, options);
    return rewindAnswer(
      await callUnary((call) => api.runs.rewindRun(request, call), this.#core.unary()),
    );
  }

  async retry(options: RetryRunOptions = {}): Promise<RewindAnswer> {
    const { api, namespace } = this.#core;
    const request = retryRequest({ namespace, runId: this.runId }, options);
    return rewindAnswer(
      await callUnary((call) => api.runs.retryRun(request, call), this.#core.unary()),
    );
  }

  async signal(
    name: string,
    payload?: unknown,
    { requestId = randomUUID(), expectedVersion }: SignalOptions = {},
  ): Promise<SignalAnswer> {
    return sendSignal(this.#core, this.#submit, {
      runId: this.runId,
      name: checkId(name, "the name of a signal"),
      requestId: checkId(requestId, "requestId"),
      payload: encodeValue(payload, `signal "${name}"`),
      expectedVersion,
    });
  }

  update<Sent, Input, Returned, Result>(
    update: Update<Sent, Input, Returned, Result>,
    payload?: Sent,
    options: UpdateOptions = {},
  ): Promise<Result> {
    // The code that accepted it has checked the result against the update's schema.
    return this.#messages.update(update, payload, options) as Promise<Result>;
  }

  updateResult<Result = unknown>(updateId: string, options: WaitOptions = {}): Promise<Result> {
    return this.#messages.updateResult(updateId, options) as Promise<Result>;
  }

  query<T>(to: string | Query<T>, schema?: Schema<unknown, T>): Promise<Published<T>> {
    return this.#messages.query(to, schema);
  }

  queries(): Promise<readonly PublishedInfo[]> {
    return this.#messages.queries();
  }

  get #messages(): RunMessages {
    return new RunMessages(this.#core, this.runId);
  }

  async get(): Promise<RunView> {
    const { api, namespace } = this.#core;
    const { runId } = this;
    const { run } = await callUnary(
      (call) => api.runs.getRun({ namespace, runId }, call),
      this.#core.unary(),
    );
    return present(run);
  }

  plan(planVersion?: number): Promise<RunPlan> {
    return this.#plans.get(planVersion);
  }

  planVersions(): Promise<readonly PlanVersionInfo[]> {
    return this.#plans.list();
  }

  revisePlan(plan: NewPlan, options: RevisePlanOptions): Promise<RevisionAnswer> {
    return this.#plans.revise(plan, options);
  }

  get #plans(): RunPlans {
    return new RunPlans(this.#core, this.runId);
  }

  async task(name: string): Promise<TaskView> {
    const { api, namespace } = this.#core;
    const request = { namespace, runId: this.runId, task: name };
    const { task } = await callUnary((call) => api.runs.getTask(request, call), this.#core.unary());
    return present(task);
  }

  async changeTask({ name, version }: ShownTask, change: TaskChange): Promise<TaskChangeAnswer> {
    const { api, namespace } = this.#core;
    const request = {
      ...{ namespace, runId: this.runId, task: name },
      expectedVersion: version,
      reason: change.reason,
      change: buildTaskChange(name, change),
    };
    return callUnary((call) => api.runs.changeTask(request, call), this.#core.unary());
  }

  async *tasks(filter: { readonly status?: TaskView["status"] } = {}): AsyncIterable<TaskView> {
    const { api, namespace } = this.#core;
    let pageToken = "";
    do {
      const request = { namespace, runId: this.runId, ...filter, pageSize: 500, pageToken };
      const page = await callUnary((call) => api.runs.listTasks(request, call), this.#core.unary());
      yield* page.tasks;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  /** A wait that was refused or cut may be asked for again. */
  #awaitResult(): Promise<RunResult> {
    const result = this.#submit.awaitRun(this.runId);
    result.catch(() => {
      this.#result = undefined;
    });
    return result;
  }

  async #decode(result: RunResult): Promise<unknown> {
    const { api, namespace } = this.#core;
    const unary = this.#core.unary();
    const output = await loadPayload(result.output, { api, namespace, runId: this.runId, unary });
    return decodePayload(output, `the output of run "${this.runId}"`);
  }

  #endRequest({ reason = "", expectedVersion }: EndOptions): {
    namespace: string;
    runId: string;
    reason: string;
    expectedVersion?: number;
  } {
    const base = { namespace: this.#core.namespace, runId: this.runId, reason };
    return expectedVersion === undefined ? base : { ...base, expectedVersion };
  }
}

function present<T>(found: T | undefined): T {
  if (found === undefined) {
    throw new PawlError(
      "PAWL_UNKNOWN_ANSWER",
      "Expected the kernel to answer with what was asked for, but the answer is empty.",
    );
  }
  return found;
}

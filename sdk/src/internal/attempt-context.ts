import type { ProposeActionRequest } from "@pawl/proto/v1/approval_service_pb.js";
import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import type { GuardValue, OperationRequest } from "@pawl/proto/v1/operation_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type {
  ChildItem,
  ObligationItem,
  Offer,
  WaitOutcome,
} from "@pawl/proto/v1/worker_service_pb.js";
import { Draining } from "../abort-reasons.js";
import type { ApproveOptions, Said } from "../approval.js";
import type { ChildOptions, ChildRun } from "../children.js";
import type { StartArguments, Startable } from "../connect.js";
import type { PerformOptions, SleepOptions, StepScope, TaskContext } from "../context.js";
import type { Duration } from "../duration.js";
import { DefinitionInvalid, PawlError } from "../errors.js";
import type { Answer, AskOptions, SignalReceived, SignalWaitOptions } from "../messages.js";
import type { NeededTask } from "../needed-task.js";
import type { Operation } from "../operation.js";
import type { RunAskedToStop, RunSignalled, TellRunOptions } from "../other-runs.js";
import type { EmitOptions } from "../output.js";
import type { TaskRef } from "../task.js";
import {
  approvalCall,
  deniedStatus,
  presentGuards,
  proposedGuards,
  proposeRequest,
  readProposal,
} from "./approve.js";
import type { AttemptContextOptions } from "./attempt-context-options.js";
import { never } from "./attempt-state.js";
import { childCall, childHandle, childItem, readChild } from "./children.js";
import { decodePayload } from "./codec.js";
import { Emitter } from "./emitter.js";
import { encodeProgress } from "./encode-progress.js";
import { type CodePlace, Names, NOT_KEPT, PLACES_MAX, placeInCode } from "./names.js";
import { NeededTasks } from "./needed-tasks.js";
import { buildOperationRequest, requireOptions } from "./operation-request.js";
import { ownName } from "./own-name.js";
import { type Ledger, Performance } from "./perform.js";
import { promised, quiet } from "./quiet.js";
import { readTimer, sleepCall, sleepUntilCall } from "./sleep.js";
import { type AnyStepOptions, NO_OPTIONS, Steps, type StepToMake } from "./steps.js";
import {
  answerCall,
  askedAs,
  cancelItem,
  readStatus,
  readAnswer as readTold,
  signalItem,
  signalledAs,
} from "./tell-run.js";
import { type Origin, originOf } from "./trace-spans.js";
import { askCall, readAnswer, readSignal, signalCall } from "./wait-calls.js";
import { type WaitCall, Waits } from "./waits.js";
import type { ItemAnswer } from "./work-item.js";

/** The `ctx` of one attempt. */
export class AttemptContext implements Omit<TaskContext, "publish" | "waitUpdate" | "revisePlan"> {
  protected options: AttemptContextOptions;
  #emitter: Emitter | undefined;
  protected steps: Steps | undefined;
  #waiting: Waits | undefined;
  #performed: Names | undefined;
  #approvals: Names | undefined;
  #told: Names | undefined;
  #children: Names | undefined;
  #neededTasks: NeededTasks | undefined;
  #origin: Origin | undefined;
  #stepsAsked = 0;

  constructor(options: AttemptContextOptions) {
    this.options = options;
  }

  /** The code goes on under another lease. */
  protected goOnWith(options: AttemptContextOptions): void {
    const { lease, state } = options;
    state.wakeFrom(this.options.state);
    this.options = options;
    this.#emitter = undefined;
    this.#origin = undefined;
    this.steps?.goOnUnder(lease, state);
  }

  get runId(): string {
    return this.options.offer.runId;
  }

  get incarnation(): number {
    return this.options.offer.incarnation;
  }

  get workflow(): string {
    return this.options.offer.workflow;
  }

  get task(): string {
    return this.options.offer.task;
  }

  get kind(): string {
    return this.options.offer.kind;
  }

  get attempt(): number {
    return this.options.offer.attempt;
  }

  get leaseVersion(): number {
    return this.options.offer.leaseVersion;
  }

  get traceparent(): string {
    return this.options.offer.traceparent;
  }

  get signal(): AbortSignal {
    return this.options.state.signal;
  }

  get lastProgress(): unknown {
    return decodePayload(this.options.offer.lastProgress, "the last progress");
  }

  get #needs(): NeededTasks {
    this.#neededTasks ??= new NeededTasks(this.options.offer.dependencies);
    return this.#neededTasks;
  }

  get dependencies(): Readonly<Record<string, unknown>> {
    return this.#needs.outputs;
  }

  dependency<Output>(ref: TaskRef<unknown, Output>, name: string = ref.name): Output {
    // The worker that served it has checked the output against the reference's schema, or there is none to check.
    return this.#needs.outputOf(name, this.task) as Output;
  }

  get needed(): readonly NeededTask[] {
    return this.#needs.all;
  }

  need<Output>(ref: TaskRef<unknown, Output>, name: string = ref.name): NeededTask<Output> {
    return this.#needs.of(name) as NeededTask<Output>;
  }

  progress(value: unknown, ..._problem: readonly unknown[]): void {
    const { state, port, lease } = this.options;
    if (state.dropsCall()) return;
    state.assertUsable("ctx.progress");
    const payload = encodeProgress(value);
    if (payload !== undefined) port.progress(lease, payload);
  }

  emit(value: unknown, options: EmitOptions = {}): void {
    const { state, port, lease } = this.options;
    if (state.dropsCall()) return;
    state.assertUsable("ctx.emit");
    this.#emitter ??= new Emitter(lease);
    const item = this.#emitter.make(value, options);
    if (item !== undefined) port.emit(lease, item);
  }

  step<T>(
    name: string,
    first: AnyStepOptions | ((scope: StepScope) => unknown),
    second?: (scope: StepScope) => unknown,
  ): Promise<T> {
    const at = this.#placeOf(this.step);
    return ownName(name) ?? this.makeStep({ name, first, second, isRead: false, at });
  }

  read<T>(
    name: string,
    first: AnyStepOptions | ((scope: StepScope) => unknown),
    second?: (scope: StepScope) => unknown,
  ): Promise<T> {
    const at = this.#placeOf(this.read);
    return ownName(name) ?? this.makeStep({ name, first, second, isRead: true, at });
  }

  #placeOf(called: object): CodePlace {
    return this.#stepsAsked++ < PLACES_MAX ? placeInCode(1, called) : NOT_KEPT;
  }

  perform<Sent, Result>(
    operation: Operation<Sent, Result>,
    payload: Sent,
    options: PerformOptions,
  ): Promise<Result> {
    return this.performAs<Result>(operation, options, () =>
      buildOperationRequest(operation, payload, options),
    );
  }

  protected performAs<Result>(
    operation: Operation,
    options: Pick<PerformOptions, "scope" | "key">,
    makeRequest: () => Promise<OperationRequest>,
    ledger?: Ledger,
  ): Promise<Result> {
    const call = `operation "${operation.name}"`;
    return this.track(call, async () => {
      requireOptions(operation, options);
      this.#performed ??= new Names();
      const scoped = `${options.scope ?? "task"} operation`;
      const taken = this.#performed.take(scoped, operation.name, options.key);
      try {
        const request = await makeRequest();
        if (options.scope === "namespace") await this.steps?.answered();
        this.#origin ??= originOf(this.options.offer);
        const used = ledger ?? this.ledgerOf(options.scope);
        // The engine decodes what the operation's own schema gave.
        return (await new Performance(used, operation, request, this.#origin).run()) as Result;
      } catch (thrown) {
        this.#performed.giveBack(taken);
        throw thrown;
      }
    });
  }

  /** The ledger of an operation of this scope. */
  protected ledgerOf(scope: PerformOptions["scope"]): Ledger {
    const { port, ledger, state } = this.options;
    return scope === "namespace" ? port.namespaceLedger(state.signal) : ledger;
  }

  protected makeStep<T>(step: StepToMake): Promise<T> {
    return promised(() => this.beginStep<T>(step));
  }

  /** Makes a step: at once, unless its function takes its time. */
  protected beginStep<T>(step: StepToMake, onRecord?: () => void): T | Promise<T> {
    const { name, first, second, isRead, at } = step;
    const options = typeof first === "function" ? NO_OPTIONS : first;
    const run = typeof first === "function" ? first : second;
    return this.enter(`step "${name}"`, () => {
      if (run === undefined) {
        throw new DefinitionInvalid(
          `Expected step "${name}" to have a function, but it has none. Give one.`,
        );
      }
      this.steps ??= this.newSteps();
      // The overloads of the interface say what comes back; the engine gives what was recorded.
      return this.steps.make({ name, options, run, isRead, at, onRecord }) as T | Promise<T>;
    });
  }

  protected newSteps(): Steps {
    const { offer, lease, state, port } = this.options;
    return new Steps({ lease, state, port, recorded: offer.steps });
  }

  sleep(name: string, duration: Duration, options: SleepOptions = {}): Promise<void> {
    return this.waitFor(() => sleepCall(name, duration, options), readTimer);
  }

  sleepUntil(name: string, time: Date, options: SleepOptions = {}): Promise<void> {
    return this.waitFor(() => sleepUntilCall(name, time, options), readTimer);
  }

  waitSignal<T>(name: string, options: SignalWaitOptions<T> = {}): Promise<SignalReceived<T>> {
    return this.waitFor(
      () => signalCall(name, options),
      (outcome) => readSignal(outcome, options.schema),
    );
  }

  ask<T>(name: string, options: AskOptions<T>): Promise<Answer<T>> {
    return this.waitFor(
      () => askCall(name, options),
      (outcome) => readAnswer(outcome, options.as),
    );
  }

  async approve<Sent, Result>(
    operation: Operation<Sent, Result>,
    content: Sent,
    options: ApproveOptions,
  ): Promise<Said<Result>> {
    const { guards = [], revises, key } = options;
    const what = `approval of "${operation.name}"`;
    const { request, proposalId } = await this.track(what, async () => {
      this.#approvals ??= new Names();
      const name =
        revises === undefined ? operation.name : `${operation.name} after ${revises.proposalId}`;
      const taken = this.#approvals.take(`${options.scope ?? "task"} approval`, name, key);
      try {
        const building = quiet(buildOperationRequest(operation, content, options));
        const held = guards.length === 0 ? [] : await proposedGuards(guards);
        return await this.atOnce(async () => {
          const built = await building;
          const proposal = proposeRequest(built, options, held);
          await this.steps?.answered();
          return { request: built, proposalId: await this.propose(proposal) };
        });
      } catch (thrown) {
        this.#approvals.giveBack(taken);
        throw thrown;
      }
    });
    const { status, principal, reason } = await this.waitFor(
      () => approvalCall(proposalId, what),
      readProposal,
    );
    const said = { proposalId, principal, reason };
    if (status !== ProposalStatus.APPROVED) {
      return { ...said, status: deniedStatus(status) };
    }
    const performWith = (stated: GuardValue[]): Promise<Result> =>
      this.performAs<Result>(operation, options, async () => ({
        ...request,
        proposalId,
        guards: stated,
      }));
    const perform = (): Promise<Result> => {
      if (guards.length === 0) return performWith([]);
      const stating = this.track(`guards of ${what}`, () => presentGuards(guards));
      const performing = stating.then(performWith);
      performing.catch(() => undefined);
      return performing;
    };
    return { ...said, status: "approved", perform };
  }

  async signalRun(
    runId: string,
    name: string,
    payload?: unknown,
    { key }: TellRunOptions = {},
  ): Promise<RunSignalled> {
    const call = `signal "${name}" to run "${runId}"`;
    const make = (): ObligationItem => signalItem({ runId, name, key }, payload);
    return signalledAs(await this.#tell(call, make));
  }

  async cancelRun(
    runId: string,
    reason = "",
    { key }: TellRunOptions = {},
  ): Promise<RunAskedToStop> {
    const make = (): ObligationItem => cancelItem({ runId, name: runId, key }, reason);
    return askedAs(await this.#tell(`cancellation of run "${runId}"`, make));
  }

  async startChild<Sent, Output>(
    definition: Startable<Sent, Output>,
    ...[input, given = {}]: StartArguments<Sent, ChildOptions>
  ): Promise<ChildRun<Output>> {
    const options = this.childOptions(given);
    const { name = definition.name, key } = options;
    const { obligation, runId } = await this.track(`child "${name}"`, async () => {
      this.#children ??= new Names();
      const taken = this.#children.take("child", name, key);
      try {
        const { lease, state, offer } = this.options;
        const item = await childItem(definition, input, options, offer);
        return readTold(await this.sendChild(item), { lease, state });
      } catch (thrown) {
        this.#children.giveBack(taken);
        throw thrown;
      }
    });
    const wait = childCall(obligation, runId);
    return childHandle<Output>(runId, {
      end: () => this.#childEnd<Output>(wait),
      forget: () => this.forgetWait(wait),
      askToStop: (reason) => this.cancelRun(runId, reason, { key: "$parent" }),
    });
  }

  async child<Sent, Output>(
    definition: Startable<Sent, Output>,
    ...args: StartArguments<Sent, ChildOptions>
  ): Promise<Output> {
    return (await this.startChild(definition, ...args)).result();
  }

  /** The worker that served the child has checked its output against its schema, or there is none to check. */
  #childEnd<Output>(wait: WaitCall): Promise<Output> {
    const { port } = this.options;
    const read = (outcome: WaitOutcome): Promise<unknown> =>
      readChild(outcome, (payload, runId) => port.load(payload, runId));
    return this.waitFor(() => wait, read) as Promise<Output>;
  }

  /** Nobody waits for this any more. */
  protected forgetWait(_wait: WaitCall): void {}

  /** How a child is started, named by where the code is. */
  protected childOptions(options: ChildOptions): ChildOptions {
    return options;
  }

  /** Starts a child; resolves with the kernel's answer. */
  protected sendChild(item: ChildItem): Promise<ItemAnswer> {
    const { lease, port, state } = this.options;
    return port.startChild(lease, item, state.seenThrough);
  }

  /** Tells another run something. Its answer is usually there at once; else the code waits for it. */
  async #tell(call: string, make: () => ObligationItem): Promise<ObligationStatus> {
    const { obligation, status } = await this.track(call, async () => {
      const item = make();
      this.#told ??= new Names();
      const taken = this.#told.take(`${item.order.case} to another run`, item.name, item.key);
      try {
        const { lease, state } = this.options;
        return readTold(await this.sendToRun(item), { lease, state });
      } catch (thrown) {
        this.#told.giveBack(taken);
        throw thrown;
      }
    });
    return status === ObligationStatus.OPEN
      ? await this.waitFor(() => answerCall(obligation, call), readStatus)
      : status;
  }

  /** Sends something to another run; resolves with the kernel's answer. */
  protected sendToRun(item: ObligationItem): Promise<ItemAnswer> {
    const { lease, port, state } = this.options;
    return port.tellRun(lease, item, state.seenThrough);
  }

  /** Runs what takes no longer than the kernel's answer, and during which nothing else may be given to the code. */
  protected atOnce<T>(run: () => Promise<T>): Promise<T> {
    return run();
  }

  /** Proposes under the lease; the answer is the id of the proposal. */
  protected propose(proposal: ProposeActionRequest): Promise<string> {
    const { lease, port, state } = this.options;
    return port.propose(lease, proposal, state.signal);
  }

  /** Waits for something; the attempt is given back while there is nothing else to do. */
  protected waitFor<T>(
    make: () => WaitCall,
    read: (outcome: WaitOutcome) => T | Promise<T>,
  ): Promise<T> {
    const { state, offer } = this.options;
    if (state.dropsCall()) {
      return never();
    }
    try {
      const call = make();
      const what = `wait "${call.name}"`;
      const misplaced = this.insideStep(what);
      if (misplaced !== undefined) throw misplaced;
      state.assertUsable(what);
      if (state.reason !== undefined && !(state.reason instanceof Draining)) throw state.reason;
      return this.#waits(offer).wait(call, read);
    } catch (thrown) {
      return quiet(Promise.reject(thrown));
    }
  }

  #waits({ outcomes, seenThrough }: Offer): Waits {
    const { state, onSuspend } = this.options;
    if (this.#waiting === undefined) {
      this.#waiting = new Waits({ outcomes, seenThrough, state });
      state.waits = this.#waiting;
      void this.#waiting.suspended.then(onSuspend);
    }
    return this.#waiting;
  }

  protected insideStep(call: string): PawlError | undefined {
    const frame = this.options.port.currentStep();
    if (frame?.attempt !== this.options.state) {
      return undefined;
    }
    const message = `Expected no ctx call inside a step, but ${call} is called inside step "${frame.step}". Call it outside: a recorded step runs nothing again.`;
    return new PawlError("PAWL_CALL_INSIDE_STEP", message, { retryable: false });
  }

  /** Runs a call of `ctx`, which counts as open until it ends. */
  protected track<T>(call: string, run: () => Promise<T>): Promise<T> {
    // A call that nobody awaits is reported when the handler returns; until then its failure must not end the process.
    return promised(() => this.enter(call, run));
  }

  /** The same at once: what throws, throws. */
  protected enter<T>(
    call: string,
    run: () => T | Promise<T>,
    isWanted?: () => boolean,
  ): T | Promise<T> {
    const misplaced = this.insideStep(call);
    if (misplaced !== undefined) throw misplaced;
    return this.options.state.enter(call, run, isWanted);
  }
}

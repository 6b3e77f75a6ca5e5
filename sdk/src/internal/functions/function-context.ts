import { randomUUID } from "node:crypto";
import type { ProposeActionRequest } from "@pawl/proto/v1/approval_service_pb.js";
import type { OperationRequest } from "@pawl/proto/v1/operation_pb.js";
import type { ChildItem, ObligationItem, WaitOutcome } from "@pawl/proto/v1/worker_service_pb.js";
import { Draining } from "../../abort-reasons.js";
import type { ApproveOptions, Said } from "../../approval.js";
import type { Call } from "../../cancel-mode.js";
import type { ChildOptions } from "../../children.js";
import type { StartArguments, Startable } from "../../connect.js";
import type { PerformOptions } from "../../context.js";
import type { Operation } from "../../operation.js";
import type { RunAskedToStop, RunSignalled, TellRunOptions } from "../../other-runs.js";
import type { TaskRef } from "../../task.js";
import type {
  CallOptions,
  MapItem,
  MapOptions,
  RollbackOptions,
  Winner,
  WorkingContext,
} from "../../workflow-context.js";
import type { AttemptContextOptions } from "../attempt-context-options.js";
import { never } from "../attempt-state.js";
import { defer } from "../deferred.js";
import { checkId } from "../ids.js";
import { MessageContext, type RecordInTurn } from "../message-context.js";
import { CALL_FRAMES, type CodePlace, Names, placeInCode, WAIT_FRAMES } from "../names.js";
import { MAIN_TASK } from "../plan-message.js";
import { quiet } from "../quiet.js";
import type { Steps, StepToMake } from "../steps.js";
import { wallMs } from "../time.js";
import type { WaitCall } from "../waits.js";
import type { ItemAnswer } from "../work-item.js";
import { awaitReview } from "./await-review.js";
import { callHandle } from "./call-handle.js";
import { type CallMade, callTask, makeCall } from "./call-task.js";
import { Calls } from "./calls.js";
import { allOf, type ContestParts, contest } from "./contest.js";
import { declareWaits } from "./declare-waits.js";
import { isEffect, type Mark, Marks } from "./marks.js";
import { type OrderKey, recordedThrough } from "./order-key.js";
import { type PerformanceCall, Performances } from "./performances.js";
import type { Place } from "./place.js";
import { Rollbacks, type Undoing } from "./rollbacks.js";
import { runMap } from "./run-map.js";
import { scopedCall, scopedOptions } from "./scoped-call.js";
import { callName, currentScope, joined, type OpenAsk, scopedName, scopeOf } from "./scopes.js";
import { type Asking, Turns } from "./turns.js";
import { BYTES_BASE, bytesOf } from "./warm-bytes.js";

/** What the code waits for, and whose call it is. */
type Wanted = Omit<Asking, "isWanted"> & { readonly mark: Mark };

/** The `ctx` of one execution of a workflow function. */
export class FunctionContext extends MessageContext implements Omit<WorkingContext, "version"> {
  readonly #turns: Turns;
  #calls: Calls;
  readonly #names = new Names();
  readonly #marks = new Marks();
  readonly #contestants: ContestParts = {
    record: (name, winner) => this.#note(name, () => winner, placeInCode(WAIT_FRAMES)),
    lose: (entry) => this.#marks.lose(entry),
    assertGoesOn: () => this.#assertGoesOn(),
  };
  readonly #performances = new Performances({
    own: (run, recorded) => this.#own(run, recorded),
    recordedStep: (name, key) => this.recordedStep(name, key),
    steps: () => this.#stepsHere(),
    ledgerOf: (scope) => this.ledgerOf(scope),
    declared: () => this.rollbacks.declared(),
    isUndoing: () => this.undoing !== undefined,
    awaitReview: (reviewId) => awaitReview(this.#turns, reviewId),
    doubted: (error) => {
      this.doubted ??= error;
    },
  });
  /** What stands before the names of the tasks that it calls: nothing for a run's own function. */
  readonly #root: string;

  #recordBytes: number;
  /** How to undo what it does. */
  readonly rollbacks: Rollbacks = new Rollbacks((error) => this.options.state.fail(error));
  /** Set while what it did is undone: it begins nothing then. */
  protected readonly undoing: Undoing | undefined;
  protected doubted: unknown;

  constructor(options: AttemptContextOptions, undoing?: Undoing) {
    super(options);
    this.undoing = undoing;
    const { offer, state } = options;
    this.#root = offer.task === MAIN_TASK ? "" : offer.task;
    this.#calls = new Calls(options, offer.outcomes.length + offer.openCalls.length > 0);
    this.#turns = new Turns({
      outcomes: offer.outcomes,
      seenThrough: offer.seenThrough,
      recordedThrough: recordedThrough(offer),
      soon: (run) => this.options.port.soon(run),
      declare: (waits) => void declareWaits(this.options, [...waits]),
      given: (number) => {
        this.options.state.seenThrough = number;
      },
      suspended: (suspension) => {
        this.#calls.flush();
        this.options.onSuspend(suspension);
      },
      onIdle: undoing?.onIdle,
    });
    this.#recordBytes = bytesOf(offer);
    state.seenThrough = 0;
    this.#follow();
  }

  /** What the code waits for is given to it under another lease; the offer holds only what is new. */
  wakeUp(options: AttemptContextOptions): void {
    const { offer, state } = options;
    this.goOnWith(options);
    this.#calls = new Calls(options, false);
    this.#recordBytes += bytesOf(offer);
    state.seenThrough = this.#turns.lastGiven;
    this.#turns.wake(offer.outcomes, offer.seenThrough);
    this.#follow();
    // It may have been asked to stop before its code could hear of it.
    if (state.reason !== undefined && !(state.reason instanceof Draining)) {
      this.#turns.abort(state.reason);
    }
  }

  /** The code stays in memory while its task is with nobody. */
  fallAsleep(): void {
    this.options.state.sleep();
  }

  /** True when the code called something while it slept: it stands elsewhere than its records say. */
  get wasCalledAsleep(): boolean {
    return this.options.state.wasCalledAsleep;
  }

  /** About how much memory the function takes while it waits, in bytes. */
  get warmBytes(): number {
    return BYTES_BASE + this.#recordBytes + (this.steps?.madeBytes ?? 0);
  }

  /** Resolves when the kernel has said that what was called fits its records. */
  callsAnswered(): Promise<void> {
    this.#calls.flush();
    return this.#calls.answered();
  }

  /** True while something recorded is about to be given. */
  protected get hasMore(): boolean {
    return this.#turns.hasReady;
  }

  /** The function has ended. */
  close(): void {
    this.#calls.flush();
    this.#turns.close();
  }

  #follow(): void {
    const { state } = this.options;
    state.waits = this.#turns;
    state.takeOutcomes((outcomes) => {
      this.#recordBytes += bytesOf({ steps: [], outcomes });
      this.#turns.arrived(outcomes);
    });
  }

  protected override makeStep<T>(step: StepToMake): Promise<T> {
    const { first, second, isRead, at } = step;
    const name = scopedName(scopeOf(this), step.name);
    const recorded = this.recordedStep(name, typeof first === "function" ? undefined : first.key);
    const toMake: StepToMake = { name, first, second, isRead, at };
    const { state } = this.options;
    const before = state.lastAtWork;
    const made = this.#own((place) => super.beginStep<T>(toMake, () => place.record()), recorded);
    const open = state.lastAtWork;
    return open === before || open === undefined ? made : this.#marks.also(made, open);
  }

  onRollback<Sent, Result>(
    operation: Operation<Sent, Result>,
    payload: Sent,
    options: RollbackOptions,
  ): void {
    if (this.#isForgotten()) return;
    const what = `rollback "${operation.name}"`;
    this.#assertMayBegin(what);
    const steps = this.#stepsHere();
    const call = { operation, payload, options: scopedOptions(this, options) };
    const { rollbacks } = this;
    rollbacks.note(operation);
    if (this.undoing !== undefined) rollbacks.pass(call, steps);
    else void this.#turns.blocking(() => rollbacks.declare(call, steps));
  }

  protected override inTurn<T>(name: string, key: string, run: RecordInTurn<T>): Promise<T> {
    return this.#own((place) => run(() => place.record()), this.recordedStep(name, key));
  }

  #stepsHere(): Steps {
    this.steps ??= this.newSteps();
    return this.steps;
  }

  /** The place of a step that was recorded earlier. */
  protected recordedStep(name: string, key: string | undefined): OrderKey | undefined {
    const record = this.#stepsHere().find(name, key);
    return record && { after: record.seenThrough, isOwn: true, number: record.number };
  }

  override perform<Sent, Result>(
    operation: Operation<Sent, Result>,
    payload: Sent,
    options: PerformOptions,
  ): Promise<Result> {
    return super.perform(operation, payload, scopedOptions(this, options));
  }

  override approve<Sent, Result>(
    operation: Operation<Sent, Result>,
    content: Sent,
    options: ApproveOptions,
  ): Promise<Said<Result>> {
    const scoped = scopedOptions(this, options);
    return this.#marks.markThroughout(() => super.approve(operation, content, scoped));
  }

  protected override performAs<Result>(
    operation: Operation,
    options: Pick<PerformOptions, "scope" | "key">,
    makeRequest: () => Promise<OperationRequest>,
  ): Promise<Result> {
    const perform: PerformanceCall<Result>["perform"] = (make, ledger) =>
      super.performAs<Result>(operation, options, make, ledger);
    const call = { operation, options, makeRequest, perform };
    return this.#marks.also(this.#performances.perform(call), { isLost: false });
  }

  override signalRun(
    runId: string,
    name: string,
    payload?: unknown,
    options: TellRunOptions = {},
  ): Promise<RunSignalled> {
    const scoped = scopedOptions(this, options);
    return this.#marks.markThroughout(() => super.signalRun(runId, name, payload, scoped));
  }

  override cancelRun(
    runId: string,
    reason = "",
    options: TellRunOptions = {},
  ): Promise<RunAskedToStop> {
    const scoped = scopedOptions(this, options);
    return this.#marks.markThroughout(() => super.cancelRun(runId, reason, scoped));
  }

  protected override asOneWait<T>(call: (isWanted: () => boolean) => Promise<T>): Promise<T> {
    return this.#marks.markThroughout((mark) => call(() => this.#marks.isWanted(mark)));
  }

  protected override atOnce<T>(run: () => Promise<T>): Promise<T> {
    return this.#turns.blocking(run);
  }

  protected override sendToRun(item: ObligationItem): Promise<ItemAnswer> {
    return this.#turns.blocking(() => super.sendToRun(item));
  }

  override child<Sent, Output>(
    definition: Startable<Sent, Output>,
    ...args: StartArguments<Sent, ChildOptions>
  ): Promise<Output> {
    return this.#marks.markThroughout(() => super.child(definition, ...args));
  }

  protected override childOptions(options: ChildOptions): ChildOptions {
    return scopedOptions(this, options);
  }

  protected override sendChild(item: ChildItem): Promise<ItemAnswer> {
    return this.#turns.blocking(() => super.sendChild(item));
  }

  protected override propose(proposal: ProposeActionRequest): Promise<string> {
    return this.#turns.blocking(() => super.propose(proposal));
  }

  protected override waitFor<T>(
    make: () => WaitCall,
    read: (outcome: WaitOutcome) => T | Promise<T>,
  ): Promise<T> {
    if (this.#isForgotten()) return never();
    const wait = async (of: Mark): Promise<T> => {
      const call = scopedCall(this, make());
      this.#assertMayWait(`wait "${call.name}"`);
      checkId(call.name, "the name of a wait");
      if (call.key !== undefined) checkId(call.key, "the key of a wait");
      this.#names.take("wait", call.name, call.key, placeInCode(WAIT_FRAMES));
      const outcome = await this.#ask({ name: call.name, key: call.key, call, mark: of });
      return this.#turns.blocking(async () => read(outcome));
    };
    const mark = this.#marks.current ?? { isLost: false };
    return this.#marks.also(quiet(wait(mark)), mark);
  }

  call<Sent, Output>(
    task: TaskRef<Sent, Output>,
    input?: Sent,
    options: CallOptions = {},
  ): Promise<Output> {
    if (this.#isForgotten()) return never();
    const mark: Mark = { isLost: false };
    return this.#marks.also(quiet(this.#call<Output>({ task, input, options, mark })), mark);
  }

  startCall<Sent, Output>(
    task: TaskRef<Sent, Output>,
    input?: Sent,
    options: CallOptions = {},
  ): Call<Output> {
    const name = callName(joined(this.#root, scopeOf(this)), task.name, options.key);
    const sent = defer<void>();
    const mark: Mark = { isLost: false };
    const parts = { task, input, options, mark, onSent: () => sent.resolve() };
    return callHandle({
      name,
      begun: this.#isForgotten() ? never<Output>() : quiet(this.#call<Output>(parts)),
      sent: sent.promise,
      also: (promise) => this.#marks.also(promise, mark),
      mark,
      isForgotten: () => this.#isForgotten(),
      assertMayBegin: (what) => this.#assertMayBegin(what),
      forget: () => this.#turns.forgetCall(name),
      tell: ({ mode, reason }) => {
        if (this.undoing !== undefined) return;
        if (mode === "abandon") this.#calls.abandon(name);
        else this.#calls.stop(name, reason);
      },
    });
  }

  async #call<Output>({ task, input, options, mark, onSent }: CallMade): Promise<Output> {
    this.#assertMayWait(`call "${task.name}"`);
    if (options.key !== undefined) checkId(options.key, "the key of a call");
    const name = callName(joined(this.#root, scopeOf(this)), task.name, options.key);
    this.#names.take("call", name, undefined, placeInCode(CALL_FRAMES));
    const isSent = this.undoing?.onFresh !== undefined || this.undoing === undefined;
    const made = isSent ? makeCall(name, { task, input, options }) : undefined;
    const doubt = this.doubtsCall(name);
    if (doubt !== undefined) await doubt;
    return callTask<Output>({
      ...{ name, made, onSent },
      turns: this.#turns,
      calls: () => this.#calls,
      load: (stored) => this.options.load(stored),
      ask: () => this.#ask({ name, key: undefined, call: undefined, mark }),
    });
  }

  /** Set when a call may contradict what is recorded: rejects when it does. */
  protected doubtsCall(_name: string): Promise<void> | undefined {
    return undefined;
  }

  /** Waits for something that ends outside, until its item is given up. */
  async #ask({ mark, ...what }: Wanted): Promise<WaitOutcome> {
    const open = currentScope(this)?.open;
    const asked: OpenAsk = { isCall: what.call === undefined, name: what.name, key: what.key };
    open?.add(asked);
    const isWanted = (): boolean => this.#marks.isWanted(mark);
    const outcome = await this.#turns.ask({ ...what, isWanted });
    open?.delete(asked);
    return outcome;
  }

  /** What has not ended and the function must not forget, when it returns. */
  get forgotten(): string[] {
    return [...this.openWork, ...this.#turns.forgotten];
  }

  /** What has not ended of its own work, and is needed. */
  protected get openWork(): string[] {
    const open = this.options.state.openCalls;
    return this.#marks.hasLostCode ? open.filter(isEffect) : open;
  }

  protected override forgetWait({ name, key }: WaitCall): void {
    this.#turns.forgetWait(name, key);
  }

  /** Code that was dropped, or whose item nobody waits for any more, goes on no further. */
  #isForgotten(): boolean {
    return this.options.state.dropsCall() || currentScope(this)?.isGivenUp === true;
  }

  protected override enter<T>(call: string, run: () => T | Promise<T>): T | Promise<T> {
    const scope = currentScope(this);
    const { current } = this.#marks;
    if (scope?.isGivenUp === true) return never();
    if (scope === undefined && current === undefined) return super.enter(call, run);
    return super.enter(call, run, () => scope?.isGivenUp !== true && current?.isLost !== true);
  }

  map<Item, Value>(
    name: string,
    items: readonly Item[],
    options: MapOptions<Item>,
    run: (item: Item, key: string) => Promise<Value>,
  ): Promise<readonly MapItem<Value>[]> {
    if (this.#isForgotten()) return never();
    const outer = scopeOf(this);
    const map = async (): Promise<readonly MapItem<Value>[]> => {
      this.#assertMayWait(`map "${name}"`);
      this.#names.take("map", scopedName(outer, checkId(name, "the name of a map")), undefined);
      const giveUp = (asks: readonly OpenAsk[]): void => this.#giveUp(asks);
      return runMap({ ...this.#contestants, attempt: this, name, items, options, run, giveUp });
    };
    return quiet(map());
  }

  #giveUp(asks: readonly OpenAsk[]): void {
    for (const { isCall, name, key } of asks) {
      if (isCall) {
        this.#turns.forgetCall(name);
        if (this.undoing === undefined) this.#calls.cancel(name);
      } else {
        this.#turns.forgetWait(name, key);
      }
    }
  }

  all<const Promises extends readonly unknown[]>(
    promises: Promises,
  ): Promise<{ -readonly [K in keyof Promises]: Awaited<Promises[K]> }> {
    return allOf(promises, this.#contestants.lose);
  }

  race<const Entries extends Readonly<Record<string, PromiseLike<unknown>>>>(
    name: string,
    entries: Entries,
  ): Promise<Winner<Entries>> {
    return contest("race", { name, entries }, this.#contestants);
  }

  any<const Entries extends Readonly<Record<string, PromiseLike<unknown>>>>(
    name: string,
    entries: Entries,
  ): Promise<Winner<Entries>> {
    return contest("any", { name, entries }, this.#contestants);
  }

  /** A step of the SDK's own, on behalf of a call of `ctx`. */
  #note<T>(name: string, first: () => T, at: CodePlace): Promise<T> {
    return this.makeStep<T>({ name, first, isRead: false, at });
  }

  async now(name: string): Promise<Date> {
    return new Date(await this.#note(`$now/${name}`, () => wallMs(), placeInCode(1, this.now)));
  }

  random(name: string): Promise<number> {
    return this.#note(`$random/${name}`, () => Math.random(), placeInCode(1, this.random));
  }

  uuid(name: string): Promise<string> {
    return this.#note(`$uuid/${name}`, () => `${randomUUID()}`, placeInCode(1, this.uuid));
  }

  log(message: string): void {
    if (this.options.state.dropsCall() || this.#turns.isReplaying) return;
    const { runId, task } = this;
    process.stderr.write(`${new Date().toISOString()} ${runId}/${task}: ${message}\n`);
  }

  #own<T>(run: (place: Place) => T | Promise<T>, recorded: OrderKey | undefined): Promise<T> {
    return this.#isForgotten() ? never() : this.#turns.own(run, recorded);
  }

  /** What ended only because the attempt should stop decides nothing. */
  #assertGoesOn(): void {
    const { reason, poison } = this.options.state;
    if (poison !== undefined) throw poison;
    if (reason !== undefined && !(reason instanceof Draining)) throw reason;
  }

  #assertMayBegin(what: string): void {
    const misplaced = this.insideStep(what);
    if (misplaced !== undefined) throw misplaced;
    this.options.state.assertUsable(what);
  }

  #assertMayWait(what: string): void {
    this.#assertMayBegin(what);
    const { state } = this.options;
    if (state.reason !== undefined && !(state.reason instanceof Draining)) throw state.reason;
  }
}

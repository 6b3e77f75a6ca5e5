import { randomUUID } from "node:crypto";
import type { ProposeActionRequest } from "@pawl/proto/v1/approval_service_pb.js";
import type { OperationRequest } from "@pawl/proto/v1/operation_pb.js";
import type { ChildItem, ObligationItem, WaitOutcome } from "@pawl/proto/v1/worker_service_pb.js";
import { Draining } from "../../abort-reasons.js";
import type { ApproveOptions, Said } from "../../approval.js";
import type { ChildOptions } from "../../children.js";
import type { PerformOptions, SleepOptions } from "../../context.js";
import type { Duration } from "../../duration.js";
import type { Answer, AskOptions, SignalReceived, SignalWaitOptions } from "../../messages.js";
import type { Operation } from "../../operation.js";
import type { RunAskedToStop, RunSignalled, TellRunOptions } from "../../other-runs.js";
import type { Schema } from "../../schema.js";
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
import { checkId } from "../ids.js";
import { MessageContext, type RecordInTurn } from "../message-context.js";
import { CALL_FRAMES, type CodePlace, Names, placeInCode, WAIT_FRAMES } from "../names.js";
import { buildTask, MAIN_TASK } from "../plan-message.js";
import { quiet } from "../quiet.js";
import { readTimer, sleepCall, sleepUntilCall } from "../sleep.js";
import type { StepToMake } from "../steps.js";
import { wallMs } from "../time.js";
import { validate } from "../validate.js";
import { askCall, readAnswer, readSignal, signalCall } from "../wait-calls.js";
import type { WaitCall } from "../waits.js";
import type { ItemAnswer } from "../work-item.js";
import { readCall } from "./call-outcome.js";
import { Calls } from "./calls.js";
import { type ContestParts, contest } from "./contest.js";
import { declareWaits } from "./declare-waits.js";
import { FunctionLedger } from "./function-ledger.js";
import { HeldBack } from "./held-back.js";
import { mapItems } from "./map-items.js";
import { type OrderKey, recordedThrough } from "./order-key.js";
import type { Place } from "./place.js";
import { Rollbacks, type Undoing } from "./rollbacks.js";
import { scopedCall, scopedOptions } from "./scoped-call.js";
import {
  callName,
  currentScope,
  inScope,
  itemPath,
  type OpenAsk,
  Scope,
  scopedName,
  scopeOf,
} from "./scopes.js";
import { Turns } from "./turns.js";
import { BYTES_BASE, bytesOf } from "./warm-bytes.js";

/** The `ctx` of one execution of a workflow function. */
export class FunctionContext extends MessageContext implements Omit<WorkingContext, "version"> {
  readonly #turns: Turns;
  #calls: Calls;
  readonly #names = new Names();
  readonly #contestants: ContestParts = {
    record: (name, winner) => this.#note(name, () => winner, placeInCode(WAIT_FRAMES)),
    assertGoesOn: () => this.#assertGoesOn(),
  };
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
      declare: (waits) => declareWaits(this.options, [...waits]),
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
    const made: StepToMake = { name, first, second, isRead, at };
    return this.#own((place) => super.beginStep<T>(made, () => place.record()), recorded);
  }

  onRollback<Sent, Result>(
    operation: Operation<Sent, Result>,
    payload: Sent,
    options: RollbackOptions,
  ): void {
    if (this.#isForgotten()) return;
    const what = `rollback "${operation.name}"`;
    const misplaced = this.insideStep(what);
    if (misplaced !== undefined) throw misplaced;
    this.options.state.assertUsable(what);
    this.rollbacks.note(operation);
    if (this.undoing !== undefined) return;
    this.steps ??= this.newSteps();
    const call = { operation, payload, options: scopedOptions(this, options) };
    const { steps } = this;
    void this.#turns.blocking(() => this.rollbacks.declare(call, steps));
  }

  protected override inTurn<T>(name: string, key: string, run: RecordInTurn<T>): Promise<T> {
    return this.#own((place) => run(() => place.record()), this.recordedStep(name, key));
  }

  /** The place of a step that was recorded earlier. */
  protected recordedStep(name: string, key: string | undefined): OrderKey | undefined {
    this.steps ??= this.newSteps();
    const record = this.steps.find(name, key);
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
    return quiet(super.approve(operation, content, scopedOptions(this, options)));
  }

  protected override performAs<Result>(
    operation: Operation,
    options: Pick<PerformOptions, "scope" | "key">,
    makeRequest: () => Promise<OperationRequest>,
  ): Promise<Result> {
    const { scope = "task", key } = options ?? {}; // Absent options are refused by name below.
    const name = scopedName(`$order/${scope}`, operation.name);
    const recorded = this.recordedStep(name, key);
    return this.#own(async (place) => {
      place.hold();
      const ledger = new FunctionLedger(this.ledgerOf(scope), { place, scope });
      const make = async (): Promise<OperationRequest> => {
        await this.rollbacks.declared();
        return makeRequest();
      };
      try {
        return await super.performAs<Result>(operation, options, make, ledger);
      } catch (error) {
        if (!ledger.isSettled && !(error instanceof HeldBack)) this.doubted ??= error;
        throw error;
      } finally {
        const isNeeded = ledger.isSettled && place.isLate && this.undoing === undefined;
        if (recorded !== undefined || isNeeded) await this.#recordPlace(place, name, key);
      }
    }, recorded);
  }

  /** What its operation cannot say itself: when the code was given the outcome. */
  async #recordPlace(place: Place, name: string, key: string | undefined): Promise<void> {
    const options = key === undefined ? {} : { key };
    const onRecord = (): void => place.record();
    this.steps ??= this.newSteps();
    await this.steps.make({ name, options, run: () => true, isRead: false, onRecord });
  }

  override signalRun(
    runId: string,
    name: string,
    payload?: unknown,
    options: TellRunOptions = {},
  ): Promise<RunSignalled> {
    return quiet(super.signalRun(runId, name, payload, scopedOptions(this, options)));
  }

  override cancelRun(
    runId: string,
    reason = "",
    options: TellRunOptions = {},
  ): Promise<RunAskedToStop> {
    return quiet(super.cancelRun(runId, reason, scopedOptions(this, options)));
  }

  protected override atOnce<T>(run: () => Promise<T>): Promise<T> {
    return this.#turns.blocking(run);
  }

  protected override sendToRun(item: ObligationItem): Promise<ItemAnswer> {
    return this.#turns.blocking(() => super.sendToRun(item));
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

  override sleep(name: string, duration: Duration, options: SleepOptions = {}): Promise<void> {
    return this.waitFor(() => scopedCall(this, sleepCall(name, duration, options)), readTimer);
  }

  override sleepUntil(name: string, time: Date, options: SleepOptions = {}): Promise<void> {
    return this.waitFor(() => scopedCall(this, sleepUntilCall(name, time, options)), readTimer);
  }

  override waitSignal<T>(
    name: string,
    options: SignalWaitOptions<T> = {},
  ): Promise<SignalReceived<T>> {
    return this.waitFor(
      () => scopedCall(this, signalCall(name, options)),
      (outcome) => readSignal(outcome, options.schema),
    );
  }

  override ask<T>(name: string, options: AskOptions<T>): Promise<Answer<T>> {
    return this.waitFor(
      () => scopedCall(this, askCall(name, options)),
      (outcome) => readAnswer(outcome, options.as),
    );
  }

  protected override waitFor<T>(
    make: () => WaitCall,
    read: (outcome: WaitOutcome) => T | Promise<T>,
  ): Promise<T> {
    if (this.#isForgotten()) return never();
    const wait = async (): Promise<T> => {
      const call = make();
      this.#assertMayWait(`wait "${call.name}"`);
      checkId(call.name, "the name of a wait");
      if (call.key !== undefined) checkId(call.key, "the key of a wait");
      this.#names.take("wait", call.name, call.key, placeInCode(WAIT_FRAMES));
      const outcome = await this.#ask(call.name, call.key, call);
      return this.#turns.blocking(async () => read(outcome));
    };
    return quiet(wait());
  }

  call<Sent, Output>(
    task: TaskRef<Sent, Output>,
    input?: Sent,
    options: CallOptions = {},
  ): Promise<Output> {
    if (this.#isForgotten()) return never();
    return quiet(this.#call<Output>(task, input, options));
  }

  async #call<Output>(task: TaskRef, input: unknown, options: CallOptions): Promise<Output> {
    const { key, ...schedule } = options;
    this.#assertMayWait(`call "${task.name}"`);
    if (key !== undefined) checkId(key, "the key of a call");
    const path = scopeOf(this);
    const around =
      this.#root === "" || path === "" ? `${this.#root}${path}` : `${this.#root}/${path}`;
    const name = callName(around, task.name, key);
    this.#names.take("call", name, undefined, placeInCode(CALL_FRAMES));
    const doubt = this.doubtsCall(name);
    if (doubt !== undefined) await doubt;
    if (this.undoing?.onFresh !== undefined || this.undoing === undefined) {
      const what = `the input of task "${task.name}"`;
      const checked =
        task.inputSchema === undefined || input === undefined
          ? input
          : await this.#turns.blocking(async () =>
              validate(task.inputSchema as Schema<unknown, unknown>, input, what, false),
            );
      this.#calls.call(buildTask(name, { task, input: checked, ...schedule }));
    }
    const { outcome } = await this.#ask(name, undefined, undefined);
    const read = (): Promise<unknown> => readCall(name, outcome, this.options.load);
    // The worker that served it has checked the output against its schema.
    return (await this.#turns.blocking(read)) as Output;
  }

  /** Set when a call may contradict what is recorded: rejects when it does. */
  protected doubtsCall(_name: string): Promise<void> | undefined {
    return undefined;
  }

  /** Waits for something that ends outside, until its item is given up. */
  async #ask(
    name: string,
    key: string | undefined,
    call: WaitCall | undefined,
  ): Promise<WaitOutcome> {
    const open = currentScope(this)?.open;
    const asked: OpenAsk = { isCall: call === undefined, name, key };
    open?.add(asked);
    const outcome = await this.#turns.ask(name, key, call);
    open?.delete(asked);
    return outcome;
  }

  /** Code that was dropped, or whose item nobody waits for any more, goes on no further. */
  #isForgotten(): boolean {
    return this.options.state.dropsCall() || currentScope(this)?.isGivenUp === true;
  }

  protected override enter<T>(call: string, run: () => T | Promise<T>): T | Promise<T> {
    const scope = currentScope(this);
    if (scope === undefined) return super.enter(call, run);
    return scope.isGivenUp ? never() : super.enter(call, run, () => !scope.isGivenUp);
  }

  map<Item, Value>(
    name: string,
    items: readonly Item[],
    options: MapOptions<Item>,
    run: (item: Item, key: string) => Promise<Value>,
  ): Promise<readonly MapItem<Value>[]> {
    if (this.#isForgotten()) return never();
    const outer = scopeOf(this);
    const around = currentScope(this);
    const scopes = new Map<string, Scope>();
    const map = async (): Promise<readonly MapItem<Value>[]> => {
      this.#assertMayWait(`map "${name}"`);
      this.#names.take("map", scopedName(outer, checkId(name, "the name of a map")), undefined);
      return mapItems({
        name,
        items,
        options,
        run: (item, key) => {
          const scope = new Scope(this, itemPath(outer, name, key), around);
          scopes.set(key, scope);
          return inScope(scope, async () => run(item, key)).finally(() => {
            scope.leave();
            scopes.delete(key);
          });
        },
        giveUp: () => this.#giveUp([...scopes.values()]),
        assertGoesOn: () => this.#assertGoesOn(),
      });
    };
    return quiet(map());
  }

  #giveUp(scopes: readonly Scope[]): void {
    for (const { isCall, name, key } of scopes.flatMap((scope) => scope.giveUp())) {
      if (isCall) {
        this.#turns.forgetCall(name);
        if (this.undoing === undefined) this.#calls.cancel(name);
      } else {
        this.#turns.forgetWait(name, key);
      }
    }
  }

  async all<const Promises extends readonly unknown[]>(
    promises: Promises,
  ): Promise<{ -readonly [K in keyof Promises]: Awaited<Promises[K]> }> {
    return await Promise.all(promises);
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

  #assertMayWait(what: string): void {
    const { state } = this.options;
    const misplaced = this.insideStep(what);
    if (misplaced !== undefined) throw misplaced;
    state.assertUsable(what);
    if (state.reason !== undefined && !(state.reason instanceof Draining)) throw state.reason;
  }
}

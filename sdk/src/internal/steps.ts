import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import type { Rollback } from "@pawl/proto/v1/rollback_pb.js";
import type { StepRecord } from "@pawl/proto/v1/worker_service_pb.js";
import type { StepOptions, StepRetry, StepScope } from "../context.js";
import { DefinitionInvalid, PawlError, StepFailed } from "../errors.js";
import type { Schema } from "../schema.js";
import type { AttemptPort, StepFrame, StepToRecord } from "./attempt-port.js";
import type { AttemptState } from "./attempt-state.js";
import { Backoff } from "./backoff.js";
import { decodePayload, payloadBytes, recordOf } from "./codec.js";
import { parseDuration } from "./duration-ms.js";
import { fromFailure, toFailure } from "./failure.js";
import { NAME_BYTES } from "./functions/warm-bytes.js";
import { checkId } from "./ids.js";
import type { Lease } from "./lease.js";
import { type CodePlace, Names } from "./names.js";
import { isThenable } from "./quiet.js";
import { ANSWER_STEP, type UpdateAnswerStep } from "./receive-update.js";
import { attemptEnd, errorFromRejection, isAttemptOver } from "./rejection.js";
import { asError, startTimer, wait } from "./time.js";
import { attribute, isTraced, noteReuse } from "./trace.js";
import { inStepSpan } from "./trace-spans.js";
import { isNoOutcome, UnsaidFailures } from "./unsaid-failures.js";
import { validate } from "./validate.js";
import type { ItemAnswer } from "./work-item.js";

/** Name of the steps that publish; their key is a number. */
const PUBLISH_STEP = "$publish";

/** A step as the code asked for it. */
export interface StepCall {
  readonly name: string;
  readonly options: StepOptions & { readonly schema?: Schema<unknown, unknown> | undefined };
  readonly run: (scope: StepScope) => unknown;
  readonly isRead: boolean;
  /** Where it is called. */
  readonly at?: CodePlace | undefined;
  /** Told when its record is sent. */
  readonly onRecord?: (() => void) | undefined;
}

/** Options of a step, with or without a schema. */
export type AnyStepOptions = StepOptions & {
  readonly schema?: Schema<unknown, unknown> | undefined;
};

/** Of a step that was given none. */
export const NO_OPTIONS: AnyStepOptions = {};

/** A step as `ctx` was asked for it. */
export interface StepToMake {
  readonly name: string;
  readonly first: AnyStepOptions | ((scope: StepScope) => unknown);
  readonly second?: ((scope: StepScope) => unknown) | undefined;
  readonly isRead: boolean;
  /** Where it is called. */
  readonly at?: CodePlace | undefined;
}

/** What the steps of an attempt need. */
export interface StepsOptions {
  readonly lease: Lease;
  readonly state: AttemptState;
  readonly port: AttemptPort;
  readonly recorded: readonly StepRecord[];
}

/** Somebody who waits until so many records are answered. */
interface Waiter {
  readonly count: number;
  readonly resolve: () => void;
}

/** How to undo something, as it is recorded. */
export interface RollbackStep {
  readonly name: string;
  readonly key: string | undefined;
  readonly value: Payload | undefined;
  readonly rollback: Rollback;
}

/** What the function of a step is given. */
class Scope implements StepScope {
  readonly #state: AttemptState;

  constructor(state: AttemptState) {
    this.#state = state;
  }

  get signal(): AbortSignal {
    return this.#state.signal;
  }

  get secret(): StepScope["secret"] {
    return this.#state.secrets.under(this.#state.signal);
  }
}

/** The steps of one attempt: those recorded earlier, and those being made. */
export class Steps {
  #waiters: readonly Waiter[] = [];
  /** Records that were sent, and how many of them are answered: in order, but for those that are refused. */
  #sent = 0;
  #answered = 0;
  #options: StepsOptions;
  #madeBytes = 0;
  readonly #recorded = new Map<string, StepRecord>();
  readonly #names = new Names();
  readonly #unsaid = new UnsaidFailures();
  /** Identities of what was recorded earlier and asked for again. */
  readonly #reached = new Set<string>();

  constructor(options: StepsOptions) {
    this.#options = options;
    options.lease.onSend = (): void => this.#sayFailures();
    for (const record of options.recorded) {
      // What was published is given to nobody.
      if (record.publishes !== undefined) continue;
      this.#recorded.set(identityOf(record.name, record.key), record);
    }
  }

  /** The code goes on under another lease. */
  goOnUnder(lease: Lease, state: AttemptState): void {
    this.#options = { ...this.#options, lease, state };
    lease.onSend = (): void => this.#sayFailures();
  }

  /** About how much memory the steps made here take, in bytes. */
  get madeBytes(): number {
    return this.#madeBytes;
  }

  /** What is recorded of a step; undefined when nothing is. */
  find(name: string, key: string | undefined): StepRecord | undefined {
    return this.#recorded.size === 0 ? undefined : this.#recorded.get(identityOf(name, key));
  }

  /** The code passed something again. True when it is recorded. */
  pass(name: string, key: string | undefined): boolean {
    const identity = identityOf(name, key);
    const isRecorded = this.#recorded.has(identity);
    if (isRecorded) this.#reached.add(identity);
    return isRecorded;
  }

  /** True when something recorded was asked for again. */
  isReached(name: string, key: string | undefined): boolean {
    return this.#reached.has(identityOf(name, key));
  }

  /** True while something recorded was not asked for again. */
  get hasLeft(): boolean {
    return this.#reached.size < this.#recorded.size;
  }

  /** What is recorded and was not asked for again. */
  get left(): StepRecord[] {
    if (!this.hasLeft) return [];
    return [...this.#recorded].flatMap(([identity, record]) =>
      this.#reached.has(identity) ? [] : [record],
    );
  }

  /** Makes a step, or gives what is recorded of it: at once, unless its function takes its time. What throws, throws. */
  make(call: StepCall): unknown {
    const { name, options } = call;
    checkId(name, "the name of a step");
    if (options.key !== undefined) checkId(options.key, "the key of a step");
    checkAttempts(name, options.retry);
    if (!this.#unsaid.isEmpty) this.#makeAgain(identityOf(name, options.key));
    const taken = this.#names.take("step", name, options.key, call.at);
    const record = this.find(name, options.key);
    if (record !== undefined) {
      this.#reached.add(identityOf(name, options.key));
      return this.#reuse(record);
    }
    try {
      const made = this.#first(call);
      return made instanceof Promise ? this.#late(made, call, taken) : made;
    } catch (thrown) {
      throw this.#thrown(thrown, call, taken);
    }
  }

  async #late(making: Promise<unknown>, call: StepCall, taken: string): Promise<unknown> {
    try {
      return await making;
    } catch (thrown) {
      throw this.#thrown(thrown, call, taken);
    }
  }

  /** What the code is thrown. A failure that is not recorded is thrown as if it were: it may be, before the code is through with it. */
  #thrown(thrown: unknown, call: StepCall, taken: string): unknown {
    const { name, options, isRead } = call;
    const { state } = this.#options;
    if (options.retry !== undefined && thrown instanceof StepFailed) return thrown;
    if (isNoOutcome(thrown, state)) {
      this.#names.giveBack(taken);
      return thrown;
    }
    const { failure } = toFailure(thrown);
    const { key } = options;
    const failed = new StepFailed(name, fromFailure(failure));
    const step: StepToRecord = { name, key, outcome: { failure }, isRead };
    const { seenThrough } = state;
    // Its place is where its record will stand: whatever is recorded from here on comes after it.
    call.onRecord?.();
    this.#unsaid.add(identityOf(name, key), { step, seenThrough, failed, taken }, thrown);
    return failed;
  }

  /** The code is given a failure of something else than a step. It is recorded before anything else of the attempt leaves. */
  keep({ name, key }: { readonly name: string; readonly key: string }, failed: Error): void {
    const { failure } = toFailure(failed);
    const step: StepToRecord = { name, key, outcome: { failure }, isRead: false };
    const { seenThrough } = this.#options.state;
    this.#unsaid.add(identityOf(name, key), { step, seenThrough, failed, taken: "" }, failed);
  }

  /** As long as its failure is not recorded the code may make a step again. */
  #makeAgain(identity: string): void {
    const unsaid = this.#unsaid.forget(identity);
    if (unsaid !== undefined) this.#names.giveBack(unsaid.taken);
  }

  /** Records failures before anything else of the attempt leaves: the code goes on with them. */
  #sayFailures(): void {
    if (this.#unsaid.isEmpty || this.#options.state.isOver) return;
    for (const { step, seenThrough } of this.#unsaid.take()) this.#send(step, seenThrough);
  }

  /** Records how to undo something, unless it is recorded. */
  async recordRollback({ name, key, value, rollback }: RollbackStep): Promise<void> {
    this.#names.take("rollback", rollback.operation, key);
    if (this.pass(name, key) || value === undefined) return;
    this.#record({ name, key, outcome: { value }, isRead: false, rollback });
  }

  /** Publishes a value under a name. What follows stays behind it. */
  publish(name: string, key: string, value: Payload): void {
    const step = { name: PUBLISH_STEP, key, outcome: { value }, isRead: false, publishes: name };
    this.#record(step);
  }

  /** Records the answer to an update, unless one is recorded: that one counts. */
  async answer({ update, make }: UpdateAnswerStep, onRecord?: () => void): Promise<void> {
    const key = `${update}`;
    if (this.pass(ANSWER_STEP, key)) return;
    const outcome = await make();
    onRecord?.();
    this.#record({ name: ANSWER_STEP, key, outcome, isRead: false, answers: update });
  }

  #reuse(record: StepRecord): unknown {
    noteReuse("pawl.step.reused", { [attribute.step]: record.name });
    if (record.failure !== undefined) {
      throw new StepFailed(record.name, fromFailure(record.failure));
    }
    return decodePayload(record.value, `step "${record.name}"`);
  }

  /** Nothing of most steps takes time: then no promise is made for them. */
  #first(call: StepCall): unknown {
    const { options } = call;
    if (options.retry !== undefined || options.timeout !== undefined || isTraced()) {
      return this.#firstInSpan(call);
    }
    const returned = this.#try(call);
    if (isThenable(returned)) return this.#firstOf(returned, call);
    const value = options.schema === undefined ? returned : this.#validate(call, returned);
    return isThenable(value) ? this.#firstOf(value, call, true) : this.#keep(call, value);
  }

  async #firstOf(
    returned: PromiseLike<unknown>,
    call: StepCall,
    isValid: boolean = call.options.schema === undefined,
  ): Promise<unknown> {
    const value = await returned;
    return this.#keep(call, isValid ? value : await this.#validate(call, value));
  }

  async #firstInSpan(call: StepCall): Promise<unknown> {
    const { name, options } = call;
    let value: unknown;
    try {
      value = await inStepSpan({ name, key: options.key }, () => this.#run(call));
    } catch (thrown) {
      throw await this.#failed(call, thrown);
    }
    return this.#keep(call, value);
  }

  #validate({ name, options }: StepCall, returned: unknown): unknown {
    return options.schema === undefined
      ? returned
      : validate(options.schema, returned, `step "${name}"`, true);
  }

  /** Records what a step gave, and gives it as it is recorded. */
  #keep(call: StepCall, value: unknown): unknown {
    const { name, options, isRead } = call;
    const record = recordOf(value, name);
    if (record === undefined) {
      throw new PawlError(
        "PAWL_VALUE_REFUSED",
        `Expected step "${name}" to return a value, but it is undefined. Return null when there is nothing to say.`,
        { retryable: false },
      );
    }
    call.onRecord?.();
    const step = { name, key: options.key, outcome: { value: record.payload }, isRead };
    if (options.durable === true) {
      return this.#recordDurably(step).then(() => record.value);
    }
    this.#record(step);
    return record.value;
  }

  /** What a step that failed throws: the error itself, or, once it is recorded, what later executions throw too. */
  async #failed(call: StepCall, thrown: unknown): Promise<unknown> {
    const { name, options, isRead } = call;
    if (options.retry === undefined || this.#options.state.reason !== undefined) {
      return thrown;
    }
    const { failure } = toFailure(thrown);
    call.onRecord?.();
    await this.#recordDurably({ name, key: options.key, outcome: { failure }, isRead });
    return new StepFailed(name, fromFailure(failure));
  }

  /** Sends a record. What follows stays behind it on the stream. */
  #record(step: StepToRecord, settle?: (error: Error | undefined) => void): void {
    const { state } = this.#options;
    state.assertUsable(`step "${step.name}"`);
    this.#send(step, state.seenThrough, settle);
  }

  #send(
    step: StepToRecord,
    seenThrough: number,
    settle?: (error: Error | undefined) => void,
  ): void {
    const { port, lease, state } = this.#options;
    const { outcome } = step;
    this.#madeBytes += NAME_BYTES + ("value" in outcome ? payloadBytes(outcome.value) : 0);
    this.#sent++;
    port.recordStep(lease, step, seenThrough, (answer) => {
      this.#answered++;
      const error = judge(answer, lease, state);
      settle?.(error);
      if (this.#waiters.length > 0) this.#wake();
    });
  }

  /** Sends a record and waits for its commit. */
  #recordDurably(step: StepToRecord): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#record(step, (error) => (error === undefined ? resolve() : reject(error)));
    });
  }

  #wake(): void {
    this.#waiters = this.#waiters.filter(({ count, resolve }) => {
      const isOver = count <= this.#answered;
      if (isOver) resolve();
      return !isOver;
    });
  }

  /** Resolves when every record that was sent is answered: what is asked beside the stream may refer to them then. */
  async answered(): Promise<void> {
    this.#sayFailures();
    const count = this.#sent;
    if (count === this.#answered) return;
    await new Promise<void>((resolve) => {
      this.#waiters = [...this.#waiters, { count, resolve }];
    });
  }

  async #run(call: StepCall): Promise<unknown> {
    const { retry } = call.options;
    const backoff = new Backoff(readBackoff(retry));
    const attempts = Math.max(1, retry?.attempts ?? 1);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#validate(call, await this.#try(call));
      } catch (thrown) {
        const isWorth = retry?.when ?? isRetryable;
        if (attempt >= attempts || this.#options.state.reason !== undefined || !isWorth(thrown))
          throw thrown;
      }
      await wait(backoff.nextMs(), this.#options.state.signal);
    }
  }

  /** Runs the step's function once, within its time. */
  #try({ name, options, run }: StepCall): unknown {
    const { port, state } = this.#options;
    const frame = { attempt: state, step: name };
    if (options.timeout === undefined) {
      return port.insideStep(frame, () => run(new Scope(state)));
    }
    return this.#tryFor(parseDuration(options.timeout, "timeout"), { name, options, run }, frame);
  }

  async #tryFor(
    timeoutMs: number,
    { name, options, run }: Pick<StepCall, "name" | "options" | "run">,
    frame: StepFrame,
  ): Promise<unknown> {
    const { port, state } = this.#options;
    const abort = new AbortController();
    const timer = startTimer(timeoutMs, () => {
      abort.abort(
        new PawlError(
          "PAWL_STEP_TIMED_OUT",
          `Expected step "${name}" to end within ${options.timeout}, but it did not.`,
        ),
      );
    });
    try {
      const signal = AbortSignal.any([abort.signal, state.signal]);
      return await Promise.race([
        port.insideStep(frame, () => run({ signal, secret: state.secrets.under(signal) })),
        rejection(abort.signal),
      ]);
    } finally {
      timer.cancel();
    }
  }
}

/** Heeds the answer to a record, by the lease that it was sent under; what is wrong with it, if something is. */
function judge(
  { rejection: refused }: ItemAnswer,
  lease: Lease,
  state: AttemptState,
): Error | undefined {
  if (refused === undefined) {
    return undefined;
  }
  if (isAttemptOver(refused)) {
    const ended = attemptEnd(refused);
    lease.isOver = true;
    state.end(ended);
    return ended;
  }
  const error = errorFromRejection(refused);
  state.poisonWith(error);
  return error;
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(asError(signal.reason)), { once: true });
  });
}

function identityOf(name: string, key: string | undefined): string {
  // No name holds NUL.
  return key === undefined ? name : `${name}\0${key}`;
}

function checkAttempts(name: string, retry: StepRetry | undefined): void {
  const attempts = retry?.attempts ?? 1;
  if (Number.isInteger(attempts) && attempts >= 1) return;
  throw new DefinitionInvalid(
    `Expected retry.attempts of step "${name}" to be a whole number from 1, but it is ${attempts}. Say how often it may be tried.`,
  );
}

function isRetryable(thrown: unknown): boolean {
  return !(
    typeof thrown === "object" &&
    thrown !== null &&
    Reflect.get(thrown, "retryable") === false
  );
}

function readBackoff(retry: StepRetry | undefined): { initialMs: number; maxMs: number } {
  return {
    initialMs: parseDuration(retry?.initial ?? "100ms", "retry.initial"),
    maxMs: parseDuration(retry?.max ?? "10s", "retry.max"),
  };
}

import type { StepRecord } from "@pawl/proto/v1/worker_service_pb.js";
import type { StepOptions, StepRetry, StepScope } from "../context.js";
import { PawlError, StepFailed } from "../errors.js";
import type { Schema } from "../schema.js";
import type { AttemptPort } from "./attempt-port.js";
import type { AttemptState } from "./attempt-state.js";
import { Backoff } from "./backoff.js";
import { decodePayload, encodeValue, payloadBytes } from "./codec.js";
import { parseDuration } from "./duration-ms.js";
import { fromFailure, toFailure } from "./failure.js";
import { NAME_BYTES } from "./functions/warm-bytes.js";
import { checkId } from "./ids.js";
import type { Lease } from "./lease.js";
import { Names } from "./names.js";
import { attemptEnd, errorFromRejection, isAttemptOver } from "./rejection.js";
import { asError, startTimer, wait } from "./time.js";
import { attribute, noteReuse } from "./trace.js";
import { inStepSpan } from "./trace-spans.js";
import { validate } from "./validate.js";
import type { ItemAnswer } from "./work-item.js";

/** A step as the code asked for it. */
export interface StepCall {
  readonly name: string;
  readonly options: StepOptions & { readonly schema?: Schema<unknown, unknown> | undefined };
  readonly run: (scope: StepScope) => unknown;
  readonly isRead: boolean;
  /** Told when its record is sent. */
  readonly onRecord?: (() => void) | undefined;
}

/** Options of a step, with or without a schema. */
export type AnyStepOptions = StepOptions & {
  readonly schema?: Schema<unknown, unknown> | undefined;
};

/** A step as `ctx` was asked for it. */
export interface StepToMake {
  readonly name: string;
  readonly first: AnyStepOptions | ((scope: StepScope) => unknown);
  readonly second?: ((scope: StepScope) => unknown) | undefined;
  readonly isRead: boolean;
  /** Told when its record is sent. */
  readonly onRecord?: (() => void) | undefined;
}

/** What the steps of an attempt need. */
export interface StepsOptions {
  readonly lease: Lease;
  readonly state: AttemptState;
  readonly port: AttemptPort;
  readonly recorded: readonly StepRecord[];
}

/** The steps of one attempt: those recorded earlier, and those being made. */
export class Steps {
  readonly #unanswered = new Set<Promise<void>>();
  #options: StepsOptions;
  #madeBytes = 0;
  readonly #recorded = new Map<string, StepRecord>();
  readonly #names = new Names();

  constructor(options: StepsOptions) {
    this.#options = options;
    for (const record of options.recorded) {
      this.#recorded.set(identityOf(record.name, record.key), record);
    }
  }

  /** The code goes on under another lease. */
  goOnUnder(lease: Lease, state: AttemptState): void {
    this.#options = { ...this.#options, lease, state };
  }

  /** About how much memory the steps made here take, in bytes. */
  get madeBytes(): number {
    return this.#madeBytes;
  }

  /** What is recorded of a step; undefined when nothing is. */
  find(name: string, key: string | undefined): StepRecord | undefined {
    return this.#recorded.get(identityOf(name, key));
  }

  /** Makes a step, or gives what is recorded of it. */
  async make(call: StepCall): Promise<unknown> {
    const { name, options } = call;
    checkId(name, "the name of a step");
    if (options.key !== undefined) checkId(options.key, "the key of a step");
    const giveBack = this.#names.take("step", name, options.key);
    const record = this.#recorded.get(identityOf(name, options.key));
    if (record !== undefined) {
      return this.#reuse(record);
    }
    try {
      return await this.#first(call);
    } catch (thrown) {
      if (!(thrown instanceof StepFailed)) giveBack();
      throw thrown;
    }
  }

  #reuse(record: StepRecord): unknown {
    noteReuse("pawl.step.reused", { [attribute.step]: record.name });
    if (record.failure !== undefined) {
      throw new StepFailed(record.name, fromFailure(record.failure));
    }
    return decodePayload(record.value, `step "${record.name}"`);
  }

  async #first(call: StepCall): Promise<unknown> {
    const { name, options, isRead } = call;
    let value: unknown;
    try {
      value = await inStepSpan({ name, key: options.key }, () => this.#run(call));
    } catch (thrown) {
      throw await this.#failed(call, thrown);
    }
    const payload = encodeValue(value, name);
    if (payload === undefined) {
      throw new PawlError(
        "PAWL_VALUE_REFUSED",
        `Expected step "${name}" to return a value, but it is undefined. Return null when there is nothing to say.`,
        { retryable: false },
      );
    }
    call.onRecord?.();
    await this.#record(
      { name, key: options.key, outcome: { value: payload }, isRead },
      options.durable === true,
    );
    return decodePayload(payload, `step "${name}"`);
  }

  /** What a step that failed throws: the error itself, or, once it is recorded, what later executions throw too. */
  async #failed(call: StepCall, thrown: unknown): Promise<unknown> {
    const { name, options, isRead } = call;
    if (options.retry === undefined || this.#options.state.reason !== undefined) {
      return thrown;
    }
    const { failure } = toFailure(thrown);
    call.onRecord?.();
    await this.#record({ name, key: options.key, outcome: { failure }, isRead }, true);
    return new StepFailed(name, fromFailure(failure));
  }

  /** Sends a record. What follows stays behind it on the stream, so only `durable` waits for the answer. */
  async #record(step: Parameters<AttemptPort["recordStep"]>[1], isDurable: boolean): Promise<void> {
    const { port, lease, state } = this.#options;
    state.assertUsable(`step "${step.name}"`);
    const { outcome } = step;
    this.#madeBytes += NAME_BYTES + ("value" in outcome ? payloadBytes(outcome.value) : 0);
    const answer = port
      .recordStep(lease, step, state.seenThrough)
      .then((settled) => judge(settled, lease, state));
    if (isDurable) {
      await answer;
      return;
    }
    this.#unanswered.add(answer);
    const answered = (): boolean => this.#unanswered.delete(answer);
    answer.then(answered, answered);
  }

  /** Resolves when every record that was sent is answered: what is asked beside the stream may refer to them then. */
  async answered(): Promise<void> {
    await Promise.allSettled(this.#unanswered);
  }

  async #run(call: StepCall): Promise<unknown> {
    const { options, name } = call;
    const { retry } = options;
    const backoff = new Backoff(readBackoff(retry));
    const attempts = Math.max(1, retry?.attempts ?? 1);
    for (let attempt = 1; ; attempt++) {
      try {
        const returned = await this.#try(call);
        return options.schema === undefined
          ? returned
          : await validate(options.schema, returned, `step "${name}"`, true);
      } catch (thrown) {
        const isWorth = retry?.when ?? isRetryable;
        if (attempt >= attempts || this.#options.state.reason !== undefined || !isWorth(thrown))
          throw thrown;
      }
      await wait(backoff.nextMs(), this.#options.state.signal);
    }
  }

  /** Runs the step's function once, within its time. */
  async #try({ name, options, run }: StepCall): Promise<unknown> {
    const { port, state } = this.#options;
    const frame = { attempt: state, step: name };
    if (options.timeout === undefined) {
      const scope: StepScope = {
        get signal() {
          return state.signal;
        },
      };
      return port.insideStep(frame, () => run(scope));
    }
    const timeoutMs = parseDuration(options.timeout, "timeout");
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
        port.insideStep(frame, () => run({ signal })),
        rejection(abort.signal),
      ]);
    } finally {
      timer.cancel();
    }
  }
}

/** Heeds the answer to a record: by the lease that it was sent under. */
function judge({ rejection: refused }: ItemAnswer, lease: Lease, state: AttemptState): void {
  if (refused === undefined) {
    return;
  }
  if (isAttemptOver(refused)) {
    const ended = attemptEnd(refused);
    lease.isOver = true;
    state.end(ended);
    throw ended;
  }
  const error = errorFromRejection(refused);
  state.poisonWith(error);
  throw error;
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(asError(signal.reason)), { once: true });
  });
}

function identityOf(name: string, key: string | undefined): string {
  return JSON.stringify([name, key ?? null]);
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

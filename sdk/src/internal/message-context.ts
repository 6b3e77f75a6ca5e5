import type { StepRecord } from "@pawl/proto/v1/worker_service_pb.js";
import type { TaskContext } from "../context.js";
import { DefinitionInvalid, TooLarge } from "../errors.js";
import type { NewPlan, ProposeRevisionOptions, RecordedRevision } from "../plan-versions.js";
import type { Query } from "../queries.js";
import type {
  Update,
  UpdateReceived,
  UpdateTimedOut,
  UpdateTimeoutOptions,
  UpdateWaitOptions,
} from "../updates.js";
import { AttemptContext } from "./attempt-context.js";
import { encodeValue, payloadBytes } from "./codec.js";
import { currentScope } from "./functions/scopes.js";
import { checkId } from "./ids.js";
import { proposeRevision } from "./propose-revision.js";
import { Publications } from "./publications.js";
import { quiet } from "./quiet.js";
import {
  ANSWER_STEP,
  type ReceivingPort,
  receiveUpdate,
  type UpdateAnswerStep,
} from "./receive-update.js";
import { validate } from "./validate.js";

/** Longest published value, in bytes: the kernel's own bound, with room for what is around it. */
const PUBLISHED_BYTES_MAX = 32_000;

/** Makes a step; tells when its record is sent. */
export type RecordInTurn<T> = (onRecord?: () => void) => Promise<T>;

/** An update that the code was given. */
interface UpdateInHand {
  readonly name: string;
  /** False when its wait lost a race: nobody may have it in hand. */
  readonly isWanted: () => boolean;
}

/** The `ctx` of one attempt, with what its code says to whoever asks: published values, and answers to updates. */
export class MessageContext extends AttemptContext implements TaskContext {
  #publications: Publications | undefined;
  /** What was recorded before this execution began: the offer that wakes a waiting function has only what is new. */
  readonly #recorded: readonly StepRecord[] = this.options.offer.steps;
  /** Updates that the code was given and has not answered, by their numbers; undefined until there was one. */
  #unanswered: Map<number, UpdateInHand> | undefined;

  /** What of updates is still to be answered, for people: not what was given to a wait that nobody needed any more. */
  get unanswered(): string[] {
    return [...(this.#unanswered?.values() ?? [])].flatMap(({ name, isWanted }) =>
      isWanted() ? [`update "${name}"`] : [],
    );
  }

  revisePlan(
    name: string,
    plan: NewPlan,
    options: ProposeRevisionOptions,
  ): Promise<RecordedRevision> {
    return proposeRevision(
      (step) => this.makeStep(step),
      () => this.options,
      { name, plan, options },
    );
  }

  publish<T>(to: string | Query<T>, value: T, ..._problem: readonly unknown[]): void {
    const { state } = this.options;
    if (state.dropsCall() || currentScope(this)?.isGivenUp === true) return;
    const name = checkId(typeof to === "string" ? to : to.name, "the name of a query");
    const what = `ctx.publish of "${name}"`;
    const misplaced = this.insideStep(what);
    if (misplaced !== undefined) throw misplaced;
    state.assertUsable(what);
    const checked = typeof to === "string" ? value : checkedNow(to, value);
    const payload = encodeValue(checked, `"${name}"`);
    if (payload === undefined) {
      throw new DefinitionInvalid(
        `Expected a value to publish as "${name}", but it is undefined. Publish null when there is nothing to say.`,
      );
    }
    if (payloadBytes(payload) > PUBLISHED_BYTES_MAX) {
      throw new TooLarge(
        `Expected at most ${PUBLISHED_BYTES_MAX} bytes to publish as "${name}", but it has ${payloadBytes(payload)}. Publish less.`,
      );
    }
    this.#publications ??= new Publications(this.#recorded);
    if (this.#publications.passes(name, payload)) return;
    this.steps ??= this.newSteps();
    this.steps.publish(name, this.#publications.nextKey(), payload);
  }

  waitUpdate<Sent, Input, Returned, Result>(
    update: Update<Sent, Input, Returned, Result>,
    options?: UpdateWaitOptions,
  ): Promise<UpdateReceived<Input, Returned>>;
  waitUpdate<Sent, Input, Returned, Result>(
    update: Update<Sent, Input, Returned, Result>,
    options: UpdateTimeoutOptions,
  ): Promise<UpdateReceived<Input, Returned> | UpdateTimedOut>;
  waitUpdate(
    update: Update,
    options: UpdateWaitOptions | UpdateTimeoutOptions = {},
  ): Promise<unknown> {
    return this.asOneWait((isWanted) => {
      const port: ReceivingPort = {
        waitFor: (make, read) => this.waitFor(make, read),
        findAnswer: (number) => this.#findAnswer(number),
        answer: (step) => this.#answerUpdate(step),
        given: (number, name) => {
          this.#unanswered ??= new Map();
          this.#unanswered.set(number, { name, isWanted });
        },
      };
      return receiveUpdate(update, options, port);
    });
  }

  /** Makes a call of several waits, which is one for the code. */
  protected asOneWait<T>(call: (isWanted: () => boolean) => Promise<T>): Promise<T> {
    return quiet(call(() => true));
  }

  /** What is recorded as the answer to an update. */
  #findAnswer(update: number): StepRecord | undefined {
    this.steps ??= this.newSteps();
    return this.steps.find(ANSWER_STEP, `${update}`);
  }

  /** Records the answer to an update, unless one is recorded. */
  #answerUpdate(step: UpdateAnswerStep): Promise<void> {
    return this.inTurn(ANSWER_STEP, `${step.update}`, (onRecord) =>
      this.track(`the answer to update "${step.name}"`, async () => {
        this.steps ??= this.newSteps();
        await this.steps.answer(step, onRecord);
        this.#unanswered?.delete(step.update);
      }),
    );
  }

  /** Does something that makes the step of this name and key; a function is given it in its turn. */
  protected inTurn<T>(_name: string, _key: string, run: RecordInTurn<T>): Promise<T> {
    return run();
  }
}

/** What is published is sent at once, so its schema cannot take its time. */
function checkedNow<T>({ name, schema }: Query<T>, value: T): unknown {
  const checked = validate(schema, value, `"${name}"`, true);
  if (checked instanceof Promise) {
    checked.catch(() => undefined);
    throw new DefinitionInvalid(
      `Expected the schema of query "${name}" to answer at once, but it is asynchronous. Use one that is not.`,
    );
  }
  return checked;
}

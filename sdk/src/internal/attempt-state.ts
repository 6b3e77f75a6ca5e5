import type { WaitOutcome } from "@pawl/proto/v1/worker_service_pb.js";
import { type AttemptEnded, Draining } from "../abort-reasons.js";
import { PawlError } from "../errors.js";
import { makeController } from "./controller.js";
import { noSecrets, type Secrets } from "./secrets.js";
import type { Waiting } from "./waiting.js";

/** A `ctx` call that has not ended. */
export interface OpenCall {
  /** What is called, for people. */
  readonly call: string;
  /** False once nobody waits for it. Absent: somebody does. */
  readonly isWanted: (() => boolean) | undefined;
  /** True when it lost a race: nobody needs to wait for it. */
  isLost: boolean;
}

/**
 * Where an attempt stands: asked to stop or not, over or not, returned or not. Every call of its `ctx` passes through
 * here.
 */
export class AttemptState {
  /** What credentials are looked up by. */
  readonly secrets: Secrets;
  /** What the code waits for; undefined until it waits for something. */
  waits: Waiting | undefined;
  /** Up to which event of its run the code had been given outcomes. */
  seenThrough = 0;
  /** The last call that took its time. */
  lastAtWork: OpenCall | undefined;
  #onOutcomes: ((outcomes: readonly WaitOutcome[]) => void) | undefined;
  readonly #early: WaitOutcome[] = [];
  #controller: AbortController | undefined;
  #reason: AttemptEnded | undefined;
  #poison: PawlError | undefined;
  #isOver = false;
  #isReturned = false;
  #open = new Set<OpenCall>();
  #isAsleep = false;
  #wasCalledAsleep = false;

  constructor(secrets: Secrets = noSecrets) {
    this.secrets = secrets;
  }

  /** Made on first need: most handlers never look at it. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = makeController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Why it should stop. Undefined while nobody asked. */
  get reason(): AttemptEnded | undefined {
    return this.#reason;
  }

  /** True once nothing it reports is taken. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** A refusal that the attempt cannot go on after, whatever its code makes of it. */
  get poison(): PawlError | undefined {
    return this.#poison;
  }

  /** Asks it to stop. Only the first reason is told. */
  abort(reason: AttemptEnded): void {
    if (this.#reason === undefined) {
      this.#reason = reason;
      this.#controller?.abort(reason);
      // A worker that goes away lets what waits give its lease back as usual.
      if (!(reason instanceof Draining)) this.waits?.abort(reason);
    }
  }

  /** Ends it: nothing it reports from here on is taken. */
  end(reason: AttemptEnded): void {
    this.#isOver = true;
    // An attempt that was only asked to stop, and is now over, throws the stronger reason.
    if (this.#reason !== undefined) this.#reason = reason;
    this.abort(reason);
    this.waits?.abort(reason);
  }

  /** Outcomes came while the lease stays: for code that can take them. */
  arrived(outcomes: readonly WaitOutcome[]): void {
    if (this.#onOutcomes === undefined) {
      this.#early.push(...outcomes);
    } else {
      this.#onOutcomes(outcomes);
    }
  }

  /** Takes outcomes from here on, those included that have come. */
  takeOutcomes(take: (outcomes: readonly WaitOutcome[]) => void): void {
    this.#onOutcomes = take;
    if (this.#early.length > 0) take(this.#early.splice(0));
  }

  /** Something that the code did not wait for was refused: its report will be this failure. */
  poisonWith(error: PawlError): void {
    this.#poison ??= error;
  }

  /** The same, for code that waits for what was refused: it is told at once. */
  fail(error: PawlError): void {
    this.poisonWith(error);
    this.waits?.abort(error);
  }

  /** The handler returned or threw: its `ctx` is closed. */
  returned(): void {
    this.#isReturned = true;
  }

  /** Whether a `ctx` call that begins now never goes on: the task was given back to wait. That there was one is noted. */
  dropsCall(): boolean {
    const drops = this.#isAsleep || this.waits?.isDropped === true;
    this.#wasCalledAsleep ||= drops;
    return drops;
  }

  /** True when the code called something while it slept. */
  get wasCalledAsleep(): boolean {
    return this.#wasCalledAsleep;
  }

  /** The task was given back and its code is kept in memory: whatever is still said of this attempt does not reach it. */
  sleep(): void {
    this.#isAsleep = true;
    this.#isOver = true;
    this.waits = undefined;
    this.#onOutcomes = () => undefined;
  }

  /** The code of an earlier attempt goes on under this one. What it holds as its signal stays its signal. */
  wakeFrom(earlier: AttemptState): void {
    // What it began and has not ended is still its own.
    this.#open = earlier.#open;
    const controller = earlier.#controller;
    earlier.#controller = undefined;
    if (controller !== undefined) {
      this.#controller = controller;
      if (this.#reason !== undefined) controller.abort(this.#reason);
    }
  }

  /** True while a `ctx` call has not ended, waits apart. */
  get isBusy(): boolean {
    return this.#open.size > 0;
  }

  /** Names of `ctx` calls that have not ended, waits apart: a wait that nobody needs any more is none. */
  get openCalls(): string[] {
    return [...this.#open].flatMap(({ call, isWanted, isLost }) =>
      !isLost && (isWanted === undefined || isWanted()) ? [call] : [],
    );
  }

  /**
   * Throws when a `ctx` call may not begin.
   *
   * @param call What is called, for the error.
   */
  assertUsable(call: string): void {
    if (this.#isOver && this.#reason !== undefined) throw this.#reason;
    if (this.#poison !== undefined) throw this.#poison;
    if (this.#isReturned) {
      throw new PawlError(
        "PAWL_CONTEXT_CLOSED",
        `Expected ${call} while the handler runs, but it has returned. Await it before you return.`,
        { retryable: false },
      );
    }
  }

  /** Runs a `ctx` call, which counts as open until it ends, or, when that is given, is not wanted any more. */
  enter<T>(call: string, run: () => T | Promise<T>, isWanted?: () => boolean): T | Promise<T> {
    if (this.dropsCall()) return never();
    this.assertUsable(call);
    const mark: OpenCall = { call, isWanted, isLost: false };
    this.#open.add(mark);
    let isAtWork = false;
    try {
      const value = run();
      if (value instanceof Promise) {
        isAtWork = true;
        this.lastAtWork = mark;
        return this.#follow(mark, value);
      }
      this.#assertGoesOn();
      return value;
    } finally {
      if (!isAtWork) this.#leave(mark);
    }
  }

  async #follow<T>(mark: OpenCall, work: Promise<T>): Promise<T> {
    try {
      const value = await work;
      this.#assertGoesOn();
      return value;
    } finally {
      this.#leave(mark);
    }
  }

  /** Whoever went on after the end would act on what does not count any more. */
  #assertGoesOn(): void {
    if (this.#isOver && this.#reason !== undefined) throw this.#reason;
  }

  #leave(mark: OpenCall): void {
    this.#open.delete(mark);
    if (this.#open.size === 0) this.waits?.look();
  }
}

/** Nothing is ever thrown to suspend: code that was dropped is forgotten where it stands. */
export function never<T>(): Promise<T> {
  return new Promise(() => undefined);
}

import type { TaskWait, WaitOutcome } from "@pawl/proto/v1/worker_service_pb.js";
import type { PawlError } from "../errors.js";
import type { AttemptState } from "./attempt-state.js";
import { type Deferred, defer } from "./deferred.js";
import { checkId } from "./ids.js";
import { Names } from "./names.js";
import { monotonicMs, startTimer, type Timer } from "./time.js";
import { WaitPromise } from "./wait-promise.js";
import type { Waiting } from "./waiting.js";

/** Something that the code waits for. */
export interface WaitCall {
  readonly name: string;
  readonly key: string | undefined;
  /** True when the code named it: the names around the code count. */
  readonly isNamed?: boolean;
  /** What it is, for people, when a function must not forget it; absent: it asks nothing of anybody. */
  readonly what?: string;
  /** What to tell the kernel, so many ms after the call was made. */
  readonly describe: (elapsedMs: number) => TaskWait;
}

/** Everything that the code waits for when it has nothing else to do. */
export interface Suspension {
  readonly waits: TaskWait[];
  readonly seenThrough: number;
}

/** What the waits of an attempt need. */
export interface WaitsOptions {
  /** Outcomes that came with the offer, in order. */
  readonly outcomes: readonly WaitOutcome[];
  /** `seen_through` of the offer. */
  readonly seenThrough: number;
  readonly state: Pick<AttemptState, "isBusy" | "seenThrough">;
}

/**
 * After an outcome was given, code that begins no other wait is either done with the rest or does something of its own; it is left alone for this
 * long, in ms, before its attempt is given back.
 */
const PATIENCE_MS = 5_000;

interface Pending {
  readonly call: WaitCall;
  readonly calledAtMs: number;
  readonly given: Deferred<WaitOutcome>;
}

/**
 * What the code of one attempt waits for. Outcomes are given one at a time, in the order of their records, each only when the code has nothing
 * else to do; so whatever the code makes of two of them it makes of them again. When all were given and the code still waits, the attempt
 * ends: the lease goes back, the code is dropped as it stands, and begins again from the top when one of the waits has ended.
 */
export class Waits implements Waiting {
  readonly #options: WaitsOptions;
  readonly #names = new Names();
  readonly #pending = new Map<string, Pending>();
  readonly #left: WaitOutcome[];
  /** True when somebody began to wait since the last outcome was given. */
  #isAwaited = false;
  /** True when an outcome was given. */
  #hasGiven = false;
  #isLooking = false;
  #isDropped = false;
  /** Outcomes that are being read. */
  #reads = 0;
  #patience: Timer | undefined;
  readonly #suspended: Deferred<Suspension> = defer();

  constructor(options: WaitsOptions) {
    this.#options = options;
    this.#left = options.outcomes.toSorted((one, other) => one.number - other.number);
  }

  /** Resolves when the code waits and has nothing else to do. */
  get suspended(): Promise<Suspension> {
    return this.#suspended.promise;
  }

  /** True once the attempt was given back: its code goes on no more. */
  get isDropped(): boolean {
    return this.#isDropped;
  }

  /**
   * Waits for something.
   *
   * @param read What the outcome is to the code.
   * @throws PawlError `PAWL_NAME_USED_TWICE`.
   */
  wait<T>(call: WaitCall, read: (outcome: WaitOutcome) => T | Promise<T>): Promise<T> {
    checkId(call.name, "the name of a wait");
    if (call.key !== undefined) checkId(call.key, "the key of a wait");
    this.#names.take("wait", call.name, call.key);
    const given = defer<WaitOutcome>();
    given.promise.catch(() => undefined);
    const pending = { call, calledAtMs: monotonicMs(), given };
    this.#pending.set(identityOf(call.name, call.key), pending);
    this.look();
    return WaitPromise.of(
      given.promise.then((outcome) => this.#read(outcome, read)),
      () => {
        this.#isAwaited = true;
        this.look();
      },
    );
  }

  /** What an outcome is to the code; a schema may take its time, and until then the code has something to do. */
  async #read<T>(outcome: WaitOutcome, read: (outcome: WaitOutcome) => T | Promise<T>): Promise<T> {
    this.#reads++;
    try {
      return await read(outcome);
    } finally {
      this.#reads--;
      this.look();
    }
  }

  /** Looks, once the code has done what it can do now, whether it waits. */
  look(): void {
    if (!this.#isLooking && !this.#isDropped) {
      this.#isLooking = true;
      setImmediate(() => {
        this.#isLooking = false;
        this.#goOn();
      });
    }
  }

  /** The attempt should stop: whoever waits is told why. */
  abort(reason: PawlError): void {
    if (this.#isDropped) return;
    this.#patience?.cancel();
    for (const { given } of this.#pending.values()) given.reject(reason);
    this.#pending.clear();
  }

  #goOn(): void {
    this.#patience?.cancel();
    const isBusy = this.#reads > 0 || this.#options.state.isBusy;
    if (this.#isDropped || this.#pending.size === 0 || isBusy) {
      return; // Looked at again when the last call ends, or another begins.
    }
    if (this.#giveNext()) {
      this.look();
    } else if (this.#isAwaited) {
      this.#suspend();
    } else if (this.#hasGiven) {
      const over = (): void => {
        this.#isAwaited = true;
        this.look();
      };
      this.#patience = startTimer(PATIENCE_MS, over, "wait");
    }
  }

  /** Gives the earliest outcome that the code waits for. */
  #giveNext(): boolean {
    for (const [index, outcome] of this.#left.entries()) {
      const identity = identityOf(outcome.name, outcome.key);
      const pending = this.#pending.get(identity);
      if (pending !== undefined) {
        this.#left.splice(index, 1);
        this.#options.state.seenThrough = seenBefore(this.#left, this.#options.seenThrough);
        this.#pending.delete(identity);
        this.#isAwaited = false;
        this.#hasGiven = true;
        pending.given.resolve(outcome);
        return true;
      }
    }
    return false;
  }

  #suspend(): void {
    this.#isDropped = true;
    const nowMs = monotonicMs();
    const waits = [...this.#pending.values()].map(({ call, calledAtMs }) =>
      call.describe(nowMs - calledAtMs),
    );
    this.#suspended.resolve({ waits, seenThrough: this.#options.seenThrough });
  }
}

/** Up to which event code has been given outcomes that was not yet given these. */
export function seenBefore(left: readonly WaitOutcome[], seenThrough: number): number {
  const next = left[0];
  return next === undefined ? seenThrough : next.number - 1;
}

function identityOf(name: string, key: string | undefined): string {
  return JSON.stringify([name, key ?? null]);
}

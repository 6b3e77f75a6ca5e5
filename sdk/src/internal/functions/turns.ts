import type { TaskWait, WaitOutcome } from "@pawl/proto/v1/worker_service_pb.js";
import type { PawlError } from "../../errors.js";
import { type Deferred, defer } from "../deferred.js";
import { promised } from "../quiet.js";
import { monotonicMs, startTimer, type Timer } from "../time.js";
import type { Waiting } from "../waiting.js";
import type { Suspension, WaitCall } from "../waits.js";
import { HeldBack } from "./held-back.js";
import { compareKeys, LIVE_NUMBERS, type OrderKey } from "./order-key.js";
import { OwnWork } from "./own-work.js";
import { Place, type PlaceTurns } from "./place.js";
import { type Ready, ReadyHeap } from "./ready-heap.js";

/** A function that waits for tasks which it called keeps its lease for this long, in ms, after the last thing it was given: most end soon. */
const LINGER_MS = 25;

/** So many waits may begin at once: the kernel's own bound. */
const WAITS_AT_ONCE = 1_000;

/** What the turns of a function need. */
export interface TurnsOptions {
  /** Outcomes that came with the offer. */
  readonly outcomes: readonly WaitOutcome[];
  /** `seen_through` of the offer. */
  readonly seenThrough: number;
  /** Number of the last record that came with the offer: until the code has been given it, it goes over what was recorded. */
  readonly recordedThrough: number;
  /** Calls back when the code has done what it can do now. */
  readonly soon: (run: () => void) => void;
  /** Told of waits that begin while something of the function still runs. */
  readonly declare: (waits: readonly TaskWait[]) => void;
  /** Told up to which event the code has been given outcomes, whenever that rises. */
  readonly given: (number: number) => void;
  /** Told when the function waits and has nothing else to do: its task is given back. */
  readonly suspended: (suspension: Suspension) => void;
  /** Set when nothing may begin: told whenever nothing is left to give and nothing runs, with all that the function waits for then. */
  readonly onIdle?: ((waits: TaskWait[]) => void) | undefined;
}

/** Something that the code asks for and that ends outside of it. */
export interface Asking {
  readonly name: string;
  readonly key: string | undefined;
  /** Undefined: a called task, which needs no wait to be told of. */
  readonly call: WaitCall | undefined;
  /** False when the function may return before it has ended. */
  readonly isWanted: () => boolean;
}

/** Something that the code waits for. */
interface Asked {
  /** What it is, for people, when the function must not forget it. */
  readonly what: string | undefined;
  readonly isWanted: () => boolean;
  /** True when it has ended, and that was not given yet. */
  hasEnded: boolean;
  readonly given: Deferred<WaitOutcome>;
  /** Undefined: a called task, which needs no wait to be told of. */
  readonly call: WaitCall | undefined;
  readonly calledAtMs: number;
}

/**
 * Gives a function what it awaits: one thing at a time, in the order of `OrderKey`, each only when the code has nothing else to do. Whether the function is
 * still in memory or runs again from its records, it sees the same things in the same order, so races have the same winner.
 *
 * When nothing is left to give and nothing of the function runs, its task is given back with all that it waits for.
 */
export class Turns implements Waiting, PlaceTurns {
  readonly #options: TurnsOptions;
  readonly #asked = new Map<string, Asked>();
  /** Waits among them that the kernel was not told of. */
  readonly #undeclared = new Set<Asked>();
  /** How many of them are called tasks. */
  #callsAsked = 0;
  /** Outcomes that nobody has asked for yet, by identity. */
  readonly #outcomes = new Map<string, WaitOutcome>();
  readonly #ready = new ReadyHeap();
  /** Outcomes up to this event number have come. */
  #arrivedThrough = 0;
  #received: number;
  #lastGiven = 0;
  /** Greatest number of what was recorded earlier and given. */
  #reached = 0;
  #liveNumber = LIVE_NUMBERS;
  /** The latest number that something was recorded with. */
  #lastRecorded = 0;
  /** Place of the latest that was given. */
  #latest: OrderKey = { after: 0, isOwn: false, number: 0 };
  #running = 0;
  #blocking = 0;
  #isLooking = false;
  #isDropped = false;
  #isClosed = false;
  #linger: Timer | undefined;
  #lingerIsOver = false;
  readonly #settled = (work: Ready): void => {
    this.#running--;
    this.#ready.add(work);
    this.look();
  };
  readonly #look = (): void => {
    this.#isLooking = false;
    this.#goOn();
  };

  constructor(options: TurnsOptions) {
    this.#options = options;
    this.#received = options.seenThrough;
    this.arrived(options.outcomes);
  }

  /** True once the task was given back: whatever the code still calls never goes on. */
  get isDropped(): boolean {
    return this.#isDropped;
  }

  /** Event number of the last outcome that the code was given. */
  get lastGiven(): number {
    return this.#lastGiven;
  }

  /** Event number of the last outcome that came. */
  get received(): number {
    return this.#received;
  }

  /** True while there is something to give. */
  get hasReady(): boolean {
    return this.#ready.size > 0;
  }

  /** True while something that was recorded earlier has not been given yet. */
  get isReplaying(): boolean {
    return this.#reached < this.#options.recordedThrough;
  }

  /** Outcomes came. One that came before is passed over. */
  arrived(outcomes: readonly WaitOutcome[]): void {
    const before = this.#arrivedThrough;
    for (const outcome of outcomes) {
      if (outcome.number <= before) continue;
      this.#arrivedThrough = Math.max(this.#arrivedThrough, outcome.number);
      this.#received = Math.max(this.#received, outcome.number);
      const identity = identityOf(outcome.name, outcome.key, outcome.outcome.case === "call");
      const asked = this.#asked.get(identity);
      if (asked === undefined) {
        this.#outcomes.set(identity, outcome);
      } else {
        this.#offer(identity, asked, outcome);
      }
    }
    this.look();
  }

  /**
   * The function goes on under another lease.
   *
   * @param outcomes What came since it was given back.
   * @param seenThrough `seen_through` of the offer.
   */
  wake(outcomes: readonly WaitOutcome[], seenThrough: number): void {
    this.#isDropped = false;
    this.#lingerIsOver = false;
    this.#received = Math.max(this.#received, seenThrough);
    this.arrived(outcomes);
    this.look();
  }

  /** Waits for something that ends outside. The caller has made sure that its name is used once. */
  ask({ name, key, call, isWanted }: Asking): Promise<WaitOutcome> {
    const identity = identityOf(name, key, call === undefined);
    const asked: Asked = {
      what: call === undefined ? `call "${name}"` : call.what,
      isWanted,
      hasEnded: false,
      given: defer<WaitOutcome>(),
      call,
      calledAtMs: monotonicMs(),
    };
    asked.given.promise.catch(() => undefined);
    this.#asked.set(identity, asked);
    if (call === undefined) this.#callsAsked++;
    else this.#undeclared.add(asked);
    const outcome = this.#outcomes.get(identity);
    if (outcome !== undefined) {
      this.#outcomes.delete(identity);
      this.#offer(identity, asked, outcome);
    }
    this.look();
    return asked.given.promise;
  }

  /** Something of the function's own waits for something that ends outside, and does nothing until then. */
  async askAside(asking: Asking): Promise<WaitOutcome> {
    this.#running--;
    try {
      return await this.ask(asking);
    } finally {
      this.#running++;
    }
  }

  /** What has not ended, is wanted, and asks something of others. */
  get forgotten(): string[] {
    return [...this.#asked.values()].flatMap(({ what, isWanted, hasEnded }) =>
      what !== undefined && !hasEnded && isWanted() ? [what] : [],
    );
  }

  /** Nobody waits for this call any more. */
  forgetCall(call: string): void {
    this.#forget(identityOf(call, undefined, true));
  }

  /** Nobody waits for this any more. */
  forgetWait(name: string, key: string | undefined): void {
    this.#forget(identityOf(name, key, false));
  }

  /**
   * Runs something of the function's own; what it gives is given in its turn. Its failure ends nothing while nobody looks at it.
   *
   * @param recorded Its place, when it was recorded earlier.
   */
  own<T>(run: (place: Place) => T | Promise<T>, recorded: OrderKey | undefined): Promise<T> {
    const place = new Place(this, recorded);
    if (this.#isClosed) return promised(() => run(place));
    const work = new OwnWork<T>(place, this.#settled);
    this.#running++;
    try {
      const value = run(place);
      if (value instanceof Promise) {
        value.then(
          (late) => work.settle(late),
          (error: unknown) => this.#failed(work, place, error),
        );
      } else {
        work.settle(value);
      }
    } catch (error) {
      this.#failed(work, place, error);
    }
    return work.promise;
  }

  #failed<T>(work: OwnWork<T>, place: Place, error: unknown): void {
    if (error instanceof HeldBack) {
      this.#running--;
      place.end();
      this.look();
    } else {
      work.fail(error);
    }
  }

  /** The place of what ends now. */
  next(): OrderKey {
    return { after: this.#lastGiven, isOwn: true, number: this.#liveNumber++ };
  }

  /** The place of what is recorded now. */
  nextRecorded(): OrderKey {
    this.#lastRecorded = this.#liveNumber;
    return this.next();
  }

  isBehind(key: OrderKey): boolean {
    return compareKeys(key, this.#latest) < 0;
  }

  hold(): void {
    this.#blocking++;
  }

  letGo(): void {
    this.#blocking--;
    this.look();
  }

  /** Nothing is given while this runs: what it gives is a matter of the network, not of the function. */
  async blocking<T>(run: () => Promise<T>): Promise<T> {
    this.#blocking++;
    try {
      return await run();
    } finally {
      this.#blocking--;
      this.look();
    }
  }

  /** Something of the function runs that need not be given in its turn. */
  async running<T>(run: () => Promise<T>): Promise<T> {
    this.#running++;
    try {
      return await run();
    } finally {
      this.#running--;
      this.look();
    }
  }

  /** Looks, once the code has done what it can do now, what to give next. */
  look(): void {
    this.#linger?.cancel();
    this.#linger = undefined;
    if (!this.#isLooking && !this.#isDropped && !this.#isClosed) {
      this.#isLooking = true;
      this.#options.soon(this.#look);
    }
  }

  /** The attempt should stop: whoever waits is told why. */
  abort(reason: PawlError): void {
    if (this.#isDropped) return;
    this.#linger?.cancel();
    for (const { given } of this.#asked.values()) given.reject(reason);
    this.#asked.clear();
    this.#undeclared.clear();
    this.#callsAsked = 0;
  }

  /** The function has ended: nothing is looked at any more. */
  close(): void {
    this.#isClosed = true;
    this.#linger?.cancel();
  }

  #goOn(): void {
    if (this.#isDropped || this.#isClosed || this.#blocking > 0) return;
    const next = this.#ready.take();
    if (next !== undefined) {
      if (!this.#putBack(next)) this.#give(next);
      this.look();
    } else if (this.#options.onIdle !== undefined) {
      if (this.#running === 0) this.#options.onIdle(describe([...this.#asked.values()]));
    } else if (this.#asked.size > 0) {
      this.#wait();
    }
  }

  /** What is not on record yet comes after what is by now. */
  #putBack(work: Ready): boolean {
    if (!(work instanceof OwnWork && work.isOpen && work.key.number < this.#lastRecorded)) {
      return false;
    }
    work.key = this.next();
    this.#ready.add(work);
    return true;
  }

  #give(next: Ready): void {
    this.#lingerIsOver = false;
    const { key } = next;
    if (key.number < LIVE_NUMBERS) this.#reached = Math.max(this.#reached, key.number);
    if (compareKeys(key, this.#latest) > 0) this.#latest = key;
    if (next instanceof OwnWork && !key.isOwn) this.#given(key.after);
    next.give();
  }

  #wait(): void {
    if (this.#running > 0 || this.#undeclared.size > WAITS_AT_ONCE) this.#declare();
    if (this.#running > 0) return;
    if (this.#callsAsked > 0 && !this.#lingerIsOver) {
      const over = (): void => {
        this.#lingerIsOver = true;
        this.look();
      };
      this.#linger = startTimer(LINGER_MS, over, "wait");
      return;
    }
    this.#isDropped = true;
    const waits = describe([...this.#asked.values()]);
    this.#undeclared.clear();
    this.#options.suspended({ waits, seenThrough: this.#received });
  }

  /** Tells of waits before the task is given back. */
  #declare(): void {
    const fresh = describe([...this.#undeclared]);
    this.#undeclared.clear();
    for (let at = 0; at < fresh.length; at += WAITS_AT_ONCE) {
      this.#options.declare(fresh.slice(at, at + WAITS_AT_ONCE));
    }
  }

  /** Nobody waits for this any more. */
  #forget(identity: string): void {
    const asked = this.#asked.get(identity);
    if (asked === undefined) return;
    this.#asked.delete(identity);
    this.#undeclared.delete(asked);
    if (asked.call === undefined) this.#callsAsked--;
  }

  #offer(identity: string, asked: Asked, outcome: WaitOutcome): void {
    asked.hasEnded = true;
    this.#ready.add({
      key: { after: outcome.number, isOwn: false, number: outcome.number },
      give: () => {
        if (this.#asked.get(identity) !== asked) return; // Nobody wants it any more.
        this.#forget(identity);
        this.#given(outcome.number);
        asked.given.resolve(outcome);
      },
    });
  }

  /** The code is given what happened at this event. */
  #given(number: number): void {
    if (number > this.#lastGiven) {
      this.#lastGiven = number;
      this.#options.given(number);
    }
  }
}

function describe(asked: readonly Asked[]): TaskWait[] {
  const nowMs = monotonicMs();
  return asked.flatMap(({ call, calledAtMs }) =>
    call === undefined ? [] : [call.describe(nowMs - calledAtMs)],
  );
}

/** Waits and called tasks have names apart from each other. */
function identityOf(name: string, key: string | undefined, isCall: boolean): string {
  return JSON.stringify([name, key ?? null, isCall]);
}

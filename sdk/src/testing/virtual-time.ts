import type { SteeredTime, Timer, TimerUse } from "../internal/time.js";
import type { KernelTime } from "../open-kernel.js";
import type { SinkBooks } from "./test-sink.js";

/** Something that is due later. */
interface Due {
  readonly atMs: number;
  readonly owner: OwnTime;
  readonly use: TimerUse;
  readonly callback: () => void;
}

/** Time that moves only when it is moved, for a kernel and everyone around it. */
export class VirtualTime {
  /** Rises with everything that happens: while it stands still, everyone waits. */
  activity = 0;
  #passedMs = 0;
  readonly #startMs: number;
  readonly #hostMs: number = performance.now();
  /** By due time; what is due at once, in the order in which it was asked for. */
  readonly #due: Due[] = [];

  /** @param startMs Wall clock at the beginning, in ms since the Unix epoch. */
  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  get wallMs(): number {
    return this.#startMs + this.#passedMs;
  }

  get monotonicMs(): number {
    return this.#hostMs + this.#passedMs;
  }

  /** Virtual ms since the beginning. */
  get passedMs(): number {
    return this.#passedMs;
  }

  /** When something is due next, in virtual ms since the beginning. */
  get nextMs(): number | undefined {
    return this.#due[0]?.atMs;
  }

  /** True while code stands still until a time, of this owner or of any. */
  hasWait(owner?: OwnTime): boolean {
    return this.#due.some(
      (due) => due.use === "wait" && (owner === undefined || due.owner === owner),
    );
  }

  /** Moves on to what is due next, and lets it happen. */
  hop(): void {
    const due = this.#due.shift();
    if (due === undefined) return;
    this.#passedMs = Math.max(this.#passedMs, due.atMs);
    this.activity++;
    due.callback();
  }

  /** Moves on without anything that happens on the way. */
  moveTo(passedMs: number): void {
    this.#passedMs = Math.max(this.#passedMs, passedMs);
  }

  /** Used by `OwnTime`. */
  add(due: Due): Timer {
    this.activity++;
    let at = this.#due.length;
    while (at > 0 && (this.#due[at - 1]?.atMs ?? 0) > due.atMs) at--;
    this.#due.splice(at, 0, due);
    return {
      cancel: () => {
        const found = this.#due.indexOf(due);
        if (found >= 0) this.#due.splice(found, 1);
      },
    };
  }

  /** Used by `OwnTime`: nothing of it ever happens. */
  forget(owner: OwnTime): void {
    const left = this.#due.filter((due) => due.owner !== owner);
    this.#due.splice(0, this.#due.length, ...left);
  }
}

/** The time of one process: what it waits for dies with it. */
export class OwnTime implements SteeredTime, KernelTime {
  /** What sinks keep of the environment that the process belongs to. */
  readonly books: SinkBooks;
  readonly #time: VirtualTime;
  #isDead = false;

  constructor(time: VirtualTime, books: SinkBooks) {
    this.#time = time;
    this.books = books;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  monotonicMs(): number {
    return this.#time.monotonicMs;
  }

  wallMs(): number {
    return this.#time.wallMs;
  }

  after(delayMs: number, callback: () => void, use: TimerUse = "watch"): Timer {
    if (this.#isDead) return { cancel: () => undefined };
    const atMs = this.#time.passedMs + Math.max(0, delayMs);
    return this.#time.add({ atMs, owner: this, use, callback });
  }

  soon(callback: () => void): Timer {
    this.#time.activity++;
    const immediate = setImmediate(() => {
      this.#time.activity++;
      if (!this.#isDead) callback();
    });
    return { cancel: () => clearImmediate(immediate) };
  }

  acted(key: string, honoursKeys: boolean): void {
    this.books.called(key, honoursKeys);
  }

  /** The process is gone. */
  kill(): void {
    this.#isDead = true;
    this.#time.forget(this);
  }
}

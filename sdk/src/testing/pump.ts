import { TestStuck } from "./errors.js";
import type { VirtualTime } from "./virtual-time.js";

/** Turns of the event loop in which nothing happens, until nothing more is about to. */
const STILL_TURNS = 8;

/** Work of the code's own, such as a read of a file, is waited for as long as this, in ms of the host. */
const OWN_WORK_MS = 100;

/** After so long without anything that happens or is due, in ms of the host, a test is stuck. */
const STUCK_MS = 1_000;

/** So often something may be due (the renewal of a lease, say) while no worker tells its kernel anything. */
const HOPS_MAX = 2_000;

/** One wait of a test passes at most this much time: 10 years. */
const PASSED_MS_MAX = 315_576_000_000;

/** What the pump asks of the environment. */
export interface PumpOwner {
  /** True while a crash is under way: what it ends is opened again before anything else. */
  readonly isCrashing: boolean;
  /** True while code runs that waits neither for time nor for the kernel, as far as anyone can tell. */
  isAtOwnWork(): boolean;
  /** Rises with what workers tell their kernels. */
  readonly told: number;
  /** Why nothing goes on, for people. */
  explain(): Promise<string>;
}

/** Up to which time is passed for somebody who waits. */
export type Haste =
  /** As far as what the client itself needs, such as its kernel being back. */
  | "own"
  /** As far as it takes. */
  | "any";

/** Passes virtual time: never while something happens, and only as far as somebody asks. */
export class Pump {
  readonly #time: VirtualTime;
  readonly #owner: PumpOwner;
  /** Waits that pass no more time than they need themselves. */
  #patient = 0;
  #last: Promise<unknown> = Promise.resolve();
  /** Own work was waited for in vain since this was told. */
  #vainAt = -1;

  constructor(time: VirtualTime, owner: PumpOwner) {
    this.#time = time;
    this.#owner = owner;
  }

  /** Waits for something, and passes time meanwhile. */
  async drive<T>(awaited: Promise<T>, haste: Haste): Promise<T> {
    let isSettled = false;
    const settled = (): void => {
      isSettled = true;
    };
    awaited.then(settled, settled);
    if (haste === "own") this.#patient++;
    try {
      // Whoever is answered goes on at once.
      await Promise.race([awaited, this.#passUntil(() => isSettled, haste)]);
    } finally {
      if (haste === "own") this.#patient--;
    }
    return awaited;
  }

  /** Passes so much time; what is due on the way happens at its own moment. */
  async advance(ms: number): Promise<void> {
    await this.#alone(async () => {
      const endMs = this.#time.passedMs + ms;
      await this.quiet();
      while ((this.#time.nextMs ?? Number.POSITIVE_INFINITY) <= endMs) {
        this.#time.hop();
        await this.quiet();
      }
      this.#time.moveTo(endMs);
      await this.quiet();
    });
  }

  /** Passes time while this is true, at most so much. */
  async passWhile(isNeeded: () => boolean, msMax: number): Promise<void> {
    await this.#alone(async () => {
      const endMs = this.#time.passedMs + msMax;
      await this.quiet();
      while (isNeeded() && (this.#time.nextMs ?? Number.POSITIVE_INFINITY) <= endMs) {
        this.#time.hop();
        await this.quiet();
      }
    });
  }

  /** Resolves when nothing more happens without time passing. */
  async quiet(): Promise<void> {
    for (;;) {
      await this.#still();
      if (!this.#owner.isAtOwnWork() || this.#vainAt === this.#owner.told) return;
      await this.#awaitOwnWork();
    }
  }

  async #still(): Promise<void> {
    for (let still = 0; still < STILL_TURNS; ) {
      const before = this.#time.activity;
      await turn();
      still = this.#time.activity === before && !this.#owner.isCrashing ? still + 1 : 0;
    }
  }

  async #awaitOwnWork(): Promise<void> {
    const { told } = this.#owner;
    const before = this.#time.activity;
    const endMs = performance.now() + OWN_WORK_MS;
    while (performance.now() < endMs) {
      await shortly();
      if (this.#time.activity !== before || !this.#owner.isAtOwnWork()) return;
    }
    this.#vainAt = told;
  }

  async #passUntil(isSettled: () => boolean, haste: Haste): Promise<void> {
    const giveUpMs = this.#time.passedMs + PASSED_MS_MAX;
    let stillSinceMs: number | undefined;
    let hops = 0;
    let { told } = this.#owner;
    while (!isSettled()) {
      const before = this.#time.activity;
      const hasPassed = await this.#alone(() => this.#passOnce(isSettled, haste));
      hops = this.#owner.told === told ? hops + Number(hasPassed) : 0;
      told = this.#owner.told;
      if (hasPassed || this.#time.activity !== before) {
        stillSinceMs = undefined;
      } else if (!isSettled()) {
        stillSinceMs ??= performance.now();
        await shortly();
      }
      const isStill = stillSinceMs !== undefined && performance.now() - stillSinceMs > STUCK_MS;
      const isVain = hops > HOPS_MAX || this.#time.passedMs > giveUpMs;
      if (haste === "any" && !isSettled() && (isStill || isVain)) {
        throw await this.#stuck();
      }
    }
  }

  /** Lets one thing happen that is due next, when that is wanted. */
  async #passOnce(isSettled: () => boolean, haste: Haste): Promise<boolean> {
    await this.quiet();
    if (isSettled()) return false;
    // Somebody who is being answered right now may do something that must come before time passes.
    const isHasty = haste === "any" && this.#patient === 0;
    if (this.#time.nextMs === undefined || !(isHasty || this.#time.hasWait())) return false;
    this.#time.hop();
    return true;
  }

  async #stuck(): Promise<TestStuck> {
    return new TestStuck(
      `Expected something to happen, but nothing that time brings makes the code under test go on. ${await this.#owner.explain()}`,
    );
  }

  /** One at a time: time is passed by one hand. */
  #alone<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#last.then(run, run);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

/** The host's own, also when a test puts others in their place. */
const { setImmediate: hostImmediate, setTimeout: hostTimeout } = globalThis;

function turn(): Promise<void> {
  return new Promise((resolve) => {
    hostImmediate(resolve);
  });
}

function shortly(): Promise<void> {
  return new Promise((resolve) => {
    hostTimeout(resolve, 1);
  });
}

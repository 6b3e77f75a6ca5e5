import type { Prng } from "./prng.js";
import type { Scheduler } from "./scheduler.js";
import type { NetworkSettings } from "./settings.js";

/** One direction of a connection; messages of it may have to keep their order. */
export interface Lane {
  lastMs: number;
  /** True: it always keeps its order. */
  readonly isStrict: boolean;
}

/** Makes one. */
export function newLane(isStrict: boolean = false): Lane {
  return { lastMs: 0, isStrict };
}

/** Carries messages, and does to them what the settings say until it is calmed. */
export class Network {
  /** True: nothing is lost any more. */
  isCalm = false;
  readonly #scheduler: Scheduler;
  readonly #prng: Prng;
  readonly #settings: NetworkSettings;
  readonly #cut = new Set<string>();
  readonly #note: (text: string) => void;

  constructor(
    scheduler: Scheduler,
    prng: Prng,
    parts: { readonly settings: NetworkSettings; readonly note: (text: string) => void },
  ) {
    this.#scheduler = scheduler;
    this.#prng = prng;
    this.#settings = parts.settings;
    this.#note = parts.note;
  }

  /** Cuts off whoever has this name. */
  cut(name: string): void {
    this.#cut.add(name);
  }

  /** Heals that. */
  heal(name: string): void {
    this.#cut.delete(name);
  }

  /**
   * Sends a message between `peer` and the kernel: it is delivered never, once or twice, and in its lane's order or not.
   * @returns false when it is lost.
   */
  send(peer: string, what: string, deliver: () => void, lane?: Lane): boolean {
    const { dropShare, doubleShare } = this.#settings;
    if (!this.isCalm) {
      if (this.#cut.has(peer) || this.#prng.chance(dropShare)) {
        this.#note(`lost: ${peer} ${what}`);
        return false;
      }
      if (lane === undefined && this.#prng.chance(doubleShare)) {
        this.#scheduler.after(this.#delay(), () => {
          this.#note(`again: ${peer} ${what}`);
          deliver();
        });
      }
    }
    let atMs = this.#scheduler.nowMs + this.#delay();
    if (lane !== undefined) {
      atMs = Math.max(atMs, lane.lastMs);
      lane.lastMs = lane.isStrict || this.#settings.keepsOrder || this.isCalm ? atMs + 0.001 : 0;
    }
    this.#scheduler.after(atMs - this.#scheduler.nowMs, () => {
      this.#note(`${peer} ${what}`);
      deliver();
    });
    return true;
  }

  #delay(): number {
    const { lateShare, lateMs, delayMs } = this.#settings;
    if (!this.isCalm && this.#prng.chance(lateShare)) {
      return this.#prng.around(lateMs);
    }
    return 1 + this.#prng.fraction() * delayMs;
  }
}

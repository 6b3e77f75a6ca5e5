import type { Target } from "./outcome.js";
import { postponedMax } from "./postponed-starts.js";

/**
 * Numbers reserved at a time; the oldest is given up first. Far more than the starts that may be on their way or wait for the disk: one
 * that lost its number would begin under another, and not find its content.
 */
const reservedMax = 10 * postponedMax;

/** Gives numbers to aggregates, in order. One that is about to begin may have its number first, for content that is stored before it. */
export class RunNumbers {
  #next: number;
  readonly #reserved = new Map<string, number>();

  /** @param next the first number that no aggregate has. */
  constructor(next: number) {
    this.#next = next;
  }

  /** A number above all that were given. */
  get next(): number {
    return this.#next;
  }

  /** The number that the aggregate of this name will have when it begins. */
  reserve(target: Target): number {
    const name = nameOf(target);
    const reserved = this.#reserved.get(name);
    if (reserved !== undefined) {
      return reserved;
    }
    const number = this.#next++;
    this.#reserved.set(name, number);
    for (const [oldest] of this.#reserved) {
      if (this.#reserved.size <= reservedMax) {
        break;
      }
      this.#reserved.delete(oldest);
    }
    return number;
  }

  /** The number of an aggregate that begins now. */
  take(target: Target): number {
    if (this.#reserved.size === 0) {
      return this.#next++; // Nearly always: reservations are for large content.
    }
    const name = nameOf(target);
    const reserved = this.#reserved.get(name);
    this.#reserved.delete(name);
    return reserved ?? this.#next++;
  }
}

// Ids hold no NUL, so it is injective.
function nameOf(target: Target): string {
  switch (target.kind) {
    case "run":
      return `${target.namespace}\0${target.runId}`;
    case "ledger":
      return `${target.namespace}\0\0${target.operationKey}`;
    case "number":
      return `${target.number}`;
  }
}

import { AsyncLocalStorage } from "node:async_hooks";
import { quiet } from "../quiet.js";

/** One call of a function's `ctx`, from outside. */
export interface Mark {
  /** True when it lost a race: the function may return before it has ended. */
  isLost: boolean;
}

/** Which call of a function a promise is of, so that what lost a race is known. */
export class Marks {
  readonly #of = new WeakMap<object, Mark>();
  readonly #long = new AsyncLocalStorage<Mark>();
  /** What lost a race and is no call itself, but code that makes some: whatever is open then may be of it. */
  readonly #lostCode = new Set<object>();

  /** The call of several parts whose code runs now. */
  get current(): Mark | undefined {
    return this.#long.getStore();
  }

  /** True while code that lost a race has not ended. */
  get hasLostCode(): boolean {
    return this.#lostCode.size > 0;
  }

  /** False when the function may return before what this call waits for has ended. */
  isWanted({ isLost }: Mark): boolean {
    return !isLost && !this.hasLostCode;
  }

  /** Makes a call of several parts. */
  markThroughout<T>(call: (mark: Mark) => Promise<T>): Promise<T> {
    const mark: Mark = { isLost: false };
    return this.also(quiet(this.#long.run(mark, () => call(mark))), mark);
  }

  /** This promise is of that call. */
  also<T>(promise: Promise<T>, mark: Mark): Promise<T> {
    this.#of.set(promise, mark);
    return promise;
  }

  /** This lost a race. It goes on, and may still be awaited. */
  lose(entry: PromiseLike<unknown>): void {
    const mark = this.#of.get(entry);
    if (mark !== undefined) {
      mark.isLost = true;
      return;
    }
    this.#lostCode.add(entry);
    const ended = (): void => void this.#lostCode.delete(entry);
    entry.then(ended, ended);
  }
}

/** True for a call that must have ended before its function returns, whatever it lost. */
export function isEffect(call: string): boolean {
  return call.startsWith("operation ");
}

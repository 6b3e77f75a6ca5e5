import type { Outcome, Receiver } from "./outcome.js";

/** Answers one-off callers by promise: computed at the decision, resolved once durable. One is shared by all of them. */
export class PromiseReceiver implements Receiver {
  #gathering: (() => void)[] = [];
  #sealed: (() => void)[] = [];
  readonly #callbacks = new Map<
    number,
    { readonly answer: (outcome: Outcome) => () => void; readonly reject: (error: unknown) => void }
  >();
  /** Rejections of everything that was promised and not yet answered. */
  readonly #rejects = new Set<(error: unknown) => void>();
  #lastTag = 0;

  /** A tag whose outcome is projected at once and given to `resolve` at release. */
  expect<T>(
    project: (outcome: Outcome) => T,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ): number {
    const tag = ++this.#lastTag;
    this.#rejects.add(reject);
    this.#callbacks.set(tag, {
      answer: (outcome) => {
        const answer = answerWith(() => project(outcome), resolve, reject);
        return () => {
          this.#rejects.delete(reject);
          answer();
        };
      },
      reject,
    });
    return tag;
  }

  /** Answers that are promised and not yet given. */
  get open(): number {
    return this.#rejects.size;
  }

  /** Drops an expectation: nobody waits for it any more. One that was decided already is still answered. */
  forget(tag: number): void {
    const callback = this.#callbacks.get(tag);
    if (callback !== undefined) {
      this.#callbacks.delete(tag);
      this.#rejects.delete(callback.reject);
    }
  }

  /** Computes an answer now and gives it at the next release. */
  later<T>(project: () => T, resolve: (value: T) => void, reject: (error: unknown) => void): void {
    const answer = answerWith(project, resolve, reject);
    this.#rejects.add(reject);
    this.#gathering.push(() => {
      this.#rejects.delete(reject);
      answer();
    });
  }

  /** Rejects everything that was promised: it will never be durable. */
  fail(error: Error): void {
    this.#gathering = [];
    this.#sealed = [];
    this.#callbacks.clear();
    for (const reject of this.#rejects) {
      reject(error);
    }
    this.#rejects.clear();
  }

  outcome(tag: number, outcome: Outcome): void {
    const callback = this.#callbacks.get(tag);
    if (callback !== undefined) {
      this.#callbacks.delete(tag);
      this.#gathering.push(callback.answer(outcome));
    }
  }

  prepare(): void {
    this.#sealed.push(...this.#gathering);
    this.#gathering = [];
  }

  /** Answers are settled promises, which cannot fail; what should ever do so leaves nobody waiting. */
  fault(error: unknown): void {
    this.fail(error instanceof Error ? error : new Error(String(error)));
  }

  release(): void {
    const sealed = this.#sealed;
    this.#sealed = [];
    for (const answer of sealed) {
      answer();
    }
  }
}

function answerWith<T>(
  project: () => T,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): () => void {
  try {
    const value = project();
    return () => resolve(value);
  } catch (error) {
    return () => reject(error);
  }
}

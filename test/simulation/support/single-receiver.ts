import type { Outcome, Receiver } from "@pawl/server/kernel/outcome.js";
import { type Answer, answerOf } from "./answers.js";

/** Takes one outcome, and gives its answer once it is durable. */
export class SingleReceiver implements Receiver {
  readonly #done: (answer: Answer, position: Uint8Array) => void;
  #gathered: Answer | undefined;
  #sealed: Answer | undefined;

  constructor(done: (answer: Answer, position: Uint8Array) => void) {
    this.#done = done;
  }

  outcome(_tag: number, outcome: Outcome): void {
    this.#gathered = answerOf(outcome);
  }

  prepare(): void {
    this.#sealed = this.#gathered;
    this.#gathered = undefined;
  }

  /** Nothing here may fail. */
  fault(error: unknown): void {
    throw error;
  }

  release(position: Uint8Array): void {
    if (this.#sealed !== undefined) {
      this.#done(this.#sealed, position);
      this.#sealed = undefined;
    }
  }
}

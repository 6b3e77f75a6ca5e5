import type { Loop } from "./loop.js";
import { RejectionError, refuseDeleted, type Target } from "./outcome.js";
import type { Resident } from "./resident.js";

/** Answers from the pending state, each given once that is durable. */
export class DurableAnswers {
  readonly #loop: Loop;

  constructor(loop: Loop) {
    this.#loop = loop;
  }

  /** @throws what failed the store, once it has: nothing more is answered. */
  requireWorking(): void {
    if (this.#loop.failure !== undefined) {
      throw this.#loop.failure;
    }
  }

  /**
   * The aggregate, paged in when it is not in memory.
   * @throws RejectionError when there is none.
   */
  async load(target: Target): Promise<Resident> {
    for (;;) {
      this.requireWorking();
      const found = this.#loop.find(target);
      if (found === undefined) {
        throw new RejectionError(this.#loop.absent(target));
      }
      if (!(found instanceof Promise)) {
        const { run } = found;
        if (run.deletion !== undefined) {
          // Its deletion may not be durable yet.
          throw await this.whenDurable(() => new RejectionError(refuseDeleted(run)));
        }
        return found;
      }
      await found;
    }
  }

  /** Computes an answer from the pending state now, and gives it once that is durable. */
  whenDurable<T>(project: () => T): Promise<T> {
    this.requireWorking();
    const { promises } = this.#loop;
    return new Promise<T>((resolve, reject) => {
      promises.later(project, resolve, reject);
      this.#loop.register(promises);
    });
  }

  /** The position behind the pending state of now, given once that is durable. */
  async positionWhenDurable(): Promise<Uint8Array> {
    let position: Uint8Array = new Uint8Array(0);
    this.#loop.register({
      outcome: () => {},
      prepare: () => {},
      fault: () => {},
      release: (at) => {
        position = at;
      },
    });
    await this.whenDurable(() => undefined);
    return position;
  }

  /** Gives what was read once all of the pending state is durable. */
  async afterwards<T>(reading: Promise<T>): Promise<T> {
    const read = await reading;
    return await this.whenDurable(() => read);
  }
}

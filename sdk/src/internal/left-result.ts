import type { CancelCallOptions, CancelMode } from "../cancel-mode.js";
import { DefinitionInvalid } from "../errors.js";
import { CallCancelled } from "../workflow-errors.js";
import { defer } from "./deferred.js";
import { quiet } from "./quiet.js";

const modes: readonly CancelMode[] = ["request", "wait", "abandon"];

/** The result of something that code may cancel while it goes on. */
export class LeftResult<Output> {
  readonly #what: string;
  readonly #make: () => Promise<Output>;
  readonly #gone = defer<never>();
  #result: Promise<Output> | undefined;
  #isCancelled = false;
  #isLeft = false;

  /**
   * @param what The name of the task, or the id of the child run.
   * @param make Begins to wait for the end.
   */
  constructor(what: string, make: () => Promise<Output>) {
    this.#what = what;
    this.#make = make;
    void quiet(this.#gone.promise);
  }

  /** The same promise each time. */
  get(): Promise<Output> {
    this.#result ??= quiet(
      this.#isLeft ? this.#gone.promise : Promise.race([this.#make(), this.#gone.promise]),
    );
    return this.#result;
  }

  /**
   * Takes the first cancellation.
   *
   * @param leave Told when nobody waits for the end any more.
   * @returns how it is cancelled; undefined when it was before.
   * @throws DefinitionInvalid when there is no such mode.
   */
  cancel(
    { mode = "request", reason = "" }: CancelCallOptions,
    leave: () => void,
  ): Required<CancelCallOptions> | undefined {
    if (!modes.includes(mode)) {
      throw new DefinitionInvalid(
        `Expected the mode of a cancellation to be request, wait or abandon, but it is "${String(mode)}". Give one of them.`,
      );
    }
    if (this.#isCancelled) return undefined;
    this.#isCancelled = true;
    if (mode !== "wait") {
      this.#isLeft = true;
      leave();
      this.#gone.reject(new CallCancelled(this.#what, { mode, reason }));
    }
    return { mode, reason };
  }
}

import type { PlanTask } from "@pawl/proto/v1/plan_pb.js";
import type { AttemptPort } from "../attempt-port.js";
import type { AttemptState } from "../attempt-state.js";
import { payloadBytes } from "../codec.js";
import type { Lease } from "../lease.js";
import { attemptEnd, errorFromRejection, isAttemptOver } from "../rejection.js";
import type { ItemAnswer } from "../work-item.js";
import { misfit } from "./misfit.js";

/** Calls in one item: the kernel's own bound. */
const ITEM_CALLS_MAX = 1_000;
/** Bytes of input in one item, so that a message holds it. */
const ITEM_BYTES_MAX = 1_000_000;

/** Who calls, and how it reaches the kernel. */
interface CallsParts {
  readonly lease: Lease;
  readonly port: AttemptPort;
  readonly state: AttemptState;
}

/** What sends the calls of a function: all of one moment go together. */
export class Calls {
  readonly #parts: CallsParts;
  #tasks: PlanTask[] = [];
  #cancels: string[] = [];
  #isScheduled = false;
  /** True when earlier executions made calls: these may be the same, or contradict them. */
  readonly #mayRepeat: boolean;
  readonly #unanswered = new Set<Promise<void>>();

  constructor(parts: CallsParts, mayRepeat: boolean) {
    this.#parts = parts;
    this.#mayRepeat = mayRepeat;
  }

  /** Resolves when it is known that no call contradicts an earlier one. */
  async answered(): Promise<void> {
    await Promise.all(this.#unanswered);
  }

  /** Calls a task. */
  call(task: PlanTask): void {
    this.#tasks.push(task);
    this.#schedule();
  }

  /** Gives a call up. */
  cancel(name: string): void {
    this.#cancels.push(name);
    this.#schedule();
  }

  /** Sends what is left. */
  flush(): void {
    const cancels = this.#cancels;
    this.#cancels = [];
    for (const tasks of batches(this.#tasks)) this.#send(tasks, []);
    this.#tasks = [];
    for (let at = 0; at < cancels.length; at += ITEM_CALLS_MAX) {
      this.#send([], cancels.slice(at, at + ITEM_CALLS_MAX));
    }
  }

  #schedule(): void {
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => {
        this.#isScheduled = false;
        this.flush();
      });
    }
  }

  #send(tasks: PlanTask[], cancels: string[]): void {
    const { lease, port } = this.#parts;
    const answer = port.call(lease, tasks, cancels).then((settled) => this.#judge(settled));
    if (this.#mayRepeat) {
      this.#unanswered.add(answer);
      void answer.then(() => this.#unanswered.delete(answer));
    }
  }

  #judge({ rejection }: ItemAnswer): void {
    if (rejection === undefined) return;
    const { lease, state } = this.#parts;
    if (isAttemptOver(rejection)) {
      lease.isOver = true;
      state.end(attemptEnd(rejection));
    } else {
      state.fail(misfit(errorFromRejection(rejection)));
    }
  }
}

function* batches(tasks: readonly PlanTask[]): Iterable<PlanTask[]> {
  let batch: PlanTask[] = [];
  let bytes = 0;
  for (const task of tasks) {
    const size = payloadBytes(task.input);
    if (batch.length === ITEM_CALLS_MAX || (batch.length > 0 && bytes + size > ITEM_BYTES_MAX)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(task);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

import { create } from "@bufbuild/protobuf";
import type { PlanTask } from "@pawl/proto/v1/plan_pb.js";
import { type StopCall, StopCallSchema } from "@pawl/proto/v1/worker_service_pb.js";
import type { AttemptPort, CallOrders } from "../attempt-port.js";
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
  readonly #tasks: PlanTask[] = [];
  readonly #cancels: string[] = [];
  readonly #stops: StopCall[] = [];
  readonly #abandons: string[] = [];
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

  /** Ends a call at once. */
  cancel(name: string): void {
    this.#cancels.push(name);
    this.#schedule();
  }

  /** Asks a call to stop. */
  stop(name: string, reason: string): void {
    this.#stops.push(create(StopCallSchema, { name, reason }));
    this.#schedule();
  }

  /** Lets a call go. */
  abandon(name: string): void {
    this.#abandons.push(name);
    this.#schedule();
  }

  /** Sends what is left. */
  flush(): void {
    const tasks = this.#tasks.splice(0);
    for (const batch of batches(tasks)) this.#send({ tasks: batch });
    for (const cancels of slices(this.#cancels.splice(0))) this.#send({ cancels });
    for (const stops of slices(this.#stops.splice(0))) this.#send({ stops });
    for (const abandons of slices(this.#abandons.splice(0))) this.#send({ abandons });
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

  #send(orders: CallOrders): void {
    const { lease, port } = this.#parts;
    const answer = port.call(lease, orders).then((settled) => this.#judge(settled));
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

function* slices<T>(items: readonly T[]): Iterable<T[]> {
  for (let at = 0; at < items.length; at += ITEM_CALLS_MAX) {
    yield items.slice(at, at + ITEM_CALLS_MAX);
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

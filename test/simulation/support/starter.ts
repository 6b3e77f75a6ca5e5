import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import { payload } from "../../core/support/values.js";
import { Caller, type World } from "./caller.js";
import type { StartOrder } from "./client.js";
import type { Prng } from "./prng.js";
import type { Process } from "./process.js";

/** What a starter is made of. */
export interface StarterParts {
  readonly world: World;
  readonly process: Process;
  readonly prng: Prng;
  /** How many starts it sends. */
  readonly count: number;
  /** Mean time between two of them, in ms. */
  readonly everyMs: number;
  /** The starts of runs that there are. */
  readonly orders: () => readonly StartOrder[];
}

/** Refusals that a start of a run that exists may meet. */
const refusals: ReadonlySet<string> = new Set([
  "PAWL_OPERATIONS_UNSETTLED",
  "PAWL_RUN_EXISTS",
  "PAWL_RUN_OVER",
]);

const policies = [
  OnExisting.RESTART_CLOSED,
  OnExisting.RESTART_CLOSED,
  OnExisting.RESTART_FAILED,
  OnExisting.REPLACE_OPEN,
  OnExisting.REFUSE,
  OnExisting.ATTACH,
];

/** Starts runs that exist, by every policy, with and without a signal beside; some of its starts it sends again, much later. */
export class Starter extends Caller {
  readonly #parts: StarterParts;
  readonly #sent: StartOrder[] = [];
  #answered = 0;

  constructor(parts: StarterParts) {
    super(parts.world, parts.process);
    this.#parts = parts;
  }

  /** True when all that it sent was answered. */
  get isDone(): boolean {
    return this.#answered === this.#parts.count;
  }

  /** Begins to send. */
  begin(): void {
    this.process.begin();
    this.#work().catch((error: unknown) => {
      this.world.complain(`the starter fails: ${String(error)}`);
    });
  }

  async #work(): Promise<void> {
    const { prng, count, everyMs, orders } = this.#parts;
    while (this.#answered < count) {
      await this.process.wait(prng.around(everyMs));
      const all = orders();
      if (all.length > 0) {
        await this.#start(this.#draw(all));
        this.#answered++;
      }
    }
  }

  #draw(all: readonly StartOrder[]): StartOrder {
    const { prng } = this.#parts;
    if (this.#sent.length > 0 && prng.chance(0.3)) {
      return prng.pick(this.#sent);
    }
    const { target, command } = prng.pick(all);
    const number = this.#sent.length;
    const name = `signal${number % 2}`;
    const signal = { name, payload: payload(number), requestId: `beside ${number}` };
    const order: StartOrder = {
      target,
      command: {
        ...command,
        ...{ onExisting: prng.pick(policies), requestId: `again ${number}` },
        signal: prng.chance(0.4) ? signal : undefined,
      },
    };
    this.#sent.push(order);
    return order;
  }

  async #start(order: StartOrder): Promise<void> {
    const { runId, requestId } = order.command;
    const answer = await this.askOne(`start ${runId} once more: ${requestId}`, order);
    if (!answer.accepted && !refusals.has(answer.reason)) {
      this.world.complain(`${requestId} of ${runId} was refused as ${answer.reason}`);
    }
  }
}

import { localCaller } from "@pawl/server/core/caller.js";
import type { Outcome, Receiver } from "@pawl/server/kernel/outcome.js";
import { type Answer, answerOf, type Order } from "./answers.js";
import type { KernelHost } from "./kernel-host.js";
import type { Lane, Network } from "./network.js";
import type { Prng } from "./prng.js";
import type { Process } from "./process.js";
import type { Witness } from "./witness.js";

/** What everyone who speaks to the kernel has in common. */
export interface World {
  readonly host: KernelHost;
  readonly network: Network;
  readonly witness: Witness;
  readonly prng: Prng;
  readonly complain: (text: string) => void;
  readonly note: (text: string) => void;
  readonly nowMs: () => number;
}

/** How patient a caller is, and which way it goes. */
export interface Patience {
  /** Asked before each try: true when nobody waits any more. */
  readonly isOver?: () => boolean;
  /** Wait before the same is sent again. Default 1,500. */
  readonly retryMs?: number;
  /** Asked before each try: a connection to use instead of a call of its own. */
  readonly route?: () => Route | undefined;
}

/** A connection that takes orders. */
export interface Route {
  readonly lane: Lane;
  /** Runs where the kernel is. */
  execute(orders: readonly Order[], reply: (answers: readonly Answer[]) => void): void;
}

/** Answers, with the moment at which the request that they answer was sent. */
export interface Timed<T> {
  readonly value: T;
  readonly sentAtMs: number;
}

/** The refusals with which the same request may be sent again. */
const passing = new Set(["PAWL_UNAVAILABLE", "PAWL_OVERLOADED", "PAWL_DISK_LOW"]);

/** One process that calls the kernel: it sends the same again until it is answered. */
export class Caller {
  readonly process: Process;
  readonly world: World;

  constructor(world: World, process: Process) {
    this.world = world;
    this.process = process;
  }

  /** Sends orders in one message until all are answered; the promise never settles when the process dies or it is over. */
  ask(
    what: string,
    orders: readonly Order[],
    patience: Patience = {},
  ): Promise<Timed<readonly Answer[]>> {
    return this.call<readonly Answer[]>(
      what,
      (reply, route) => {
        if (route !== undefined) {
          route.execute(orders, reply);
          return;
        }
        this.world.host.deliver((kernel) => {
          const isHeard = (): boolean => this.world.host.speaks(kernel);
          const receiver = new UnaryReceiver(this.world.witness, orders, { reply, isHeard });
          for (const [tag, { target, command }] of orders.entries()) {
            kernel.execute(target, command, localCaller, { receiver, tag });
          }
        });
      },
      patience,
    );
  }

  /** Sends one order. */
  async askOne(what: string, order: Order, patience: Patience = {}): Promise<Answer> {
    const { value } = await this.ask(what, [order], patience);
    const [answer] = value;
    if (answer === undefined) {
      throw new Error("expected an answer");
    }
    return answer;
  }

  /** Calls until it is answered. `act` runs where the kernel is, perhaps several times; what it gives to `reply` goes back. */
  call<T>(
    what: string,
    act: (reply: (value: T) => void, route: Route | undefined) => void,
    patience: Patience = {},
  ): Promise<Timed<T>> {
    const { network, nowMs, prng } = this.world;
    const { isOver = () => false, retryMs = 1_500 } = patience;
    const enter = this.process.entry();
    return new Promise((resolve) => {
      let isDone = false;
      const settle = (value: T, sentAtMs: number): void => {
        if (!isPassing(value) && !isDone) {
          isDone = true;
          resolve({ value, sentAtMs });
        }
      };
      const send = (): void => {
        if (isDone || isOver()) {
          return;
        }
        const sentAtMs = nowMs();
        const route = patience.route?.();
        const deliver = (): void =>
          act((value) => {
            network.send(this.process.name, `is answered ${what}`, () =>
              enter(() => settle(value, sentAtMs)),
            );
          }, route);
        network.send(this.process.name, `asks ${what}`, deliver, route?.lane);
        this.process.after(retryMs * (0.5 + prng.fraction()), send);
      };
      send();
    });
  }
}

/** "Try again later" is no answer: it is sent again anyway. */
function isPassing(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.some((one: Answer) => one.accepted === false && passing.has(one.reason))
  );
}

interface ReplyTo {
  readonly reply: (answers: readonly Answer[]) => void;
  /** False once the kernel's process is gone. */
  readonly isHeard: () => boolean;
}

/** Takes the outcomes of one message, and lets the answers leave once they are durable. */
class UnaryReceiver implements Receiver {
  readonly #witness: Witness;
  readonly #orders: readonly Order[];
  readonly #to: ReplyTo;
  readonly #answers = new Map<number, Answer>();
  #gathered: number[] = [];
  #sealed: number[] = [];
  #released = 0;

  constructor(witness: Witness, orders: readonly Order[], to: ReplyTo) {
    this.#witness = witness;
    this.#orders = orders;
    this.#to = to;
  }

  outcome(tag: number, outcome: Outcome): void {
    this.#answers.set(tag, answerOf(outcome));
    this.#gathered.push(tag);
  }

  prepare(): void {
    this.#sealed.push(...this.#gathered);
    this.#gathered = [];
  }

  /** Nothing here may fail. */
  fault(error: unknown): void {
    throw error;
  }

  release(position: Uint8Array): void {
    if (!this.#to.isHeard()) {
      return;
    }
    for (const tag of this.#sealed) {
      const order = this.#orders[tag];
      const answer = this.#answers.get(tag);
      if (order !== undefined && answer !== undefined) {
        this.#witness.answered(order, answer, position);
        this.#released++;
      }
    }
    this.#sealed = [];
    if (this.#released === this.#orders.length) {
      this.#to.reply(this.#orders.flatMap((_order, tag) => this.#answers.get(tag) ?? []));
    }
  }
}

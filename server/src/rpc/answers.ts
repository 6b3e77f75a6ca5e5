import type { Caller } from "../core/caller.js";
import type { Command } from "../core/command.js";
import type { Rejection } from "../core/rejection.js";
import { type Outcome, type Receiver, RejectionError, type Target } from "../kernel/outcome.js";
import type { Edge } from "./edge.js";
import type { OpenCall } from "./lifecycle.js";

/** What was accepted. */
export type Accepted = Extract<Outcome, { readonly accepted: true }>;

/** A command with what it is for. */
export interface Order {
  readonly target: Target;
  readonly command: Command;
}

/** Answers that became durable together, with the point up to which they are. */
export interface Durable<T> {
  readonly value: T;
  readonly position: Uint8Array;
}

/**
 * Hands a batch of orders over in order and gives all answers once all of them are durable. Each answer is computed at its decision.
 *
 * @param orders An order, or why the item is refused before it becomes one.
 */
export function executeAll<T>(
  edge: Edge,
  orders: readonly (Order | Rejection)[],
  caller: Caller,
  project: (outcome: Outcome, index: number) => T,
): Promise<Durable<T[]>> {
  return new Promise((resolve, reject) => {
    const batch = new Batch<T>(edge, orders.length, project, { resolve, reject });
    for (const [tag, order] of orders.entries()) {
      if ("command" in order) {
        edge.kernel.execute(order.target, order.command, caller, { receiver: batch, tag });
      } else {
        batch.outcome(tag, { accepted: false, rejection: order });
      }
    }
    if (!orders.some((order) => "command" in order)) {
      batch.prepare();
      batch.release(new Uint8Array(0));
    }
  });
}

/**
 * Hands one order over and gives its answer once it is durable.
 *
 * @throws RejectionError (as a rejection of the promise) when it is refused.
 */
export async function executeOne<T>(
  edge: Edge,
  order: Order,
  caller: Caller,
  project: (accepted: Accepted) => T,
): Promise<Durable<T>> {
  const { value, position } = await executeAll(edge, [order], caller, (outcome) =>
    outcome.accepted ? { answer: project(outcome) } : { rejection: outcome.rejection },
  );
  const [only] = value;
  if (only === undefined || only.rejection !== undefined) {
    throw new RejectionError(only?.rejection ?? missingAnswer);
  }
  return { value: only.answer, position };
}

const missingAnswer: Rejection = {
  reason: "PAWL_INTERNAL",
  message:
    "Expected an answer to the command, but there is none. Next: report it to who runs the kernel.",
};

interface Settle<T> {
  readonly resolve: (answers: Durable<T[]>) => void;
  readonly reject: (error: unknown) => void;
}

class Batch<T> implements Receiver, OpenCall {
  readonly #edge: Edge;
  readonly #project: (outcome: Outcome, index: number) => T;
  readonly #settle: Settle<T>;
  readonly #answers: T[] = [];
  #missing: number;
  #isSealed = false;

  constructor(
    edge: Edge,
    count: number,
    project: (outcome: Outcome, index: number) => T,
    settle: Settle<T>,
  ) {
    this.#edge = edge;
    this.#project = project;
    this.#settle = settle;
    this.#missing = count;
    edge.lifecycle.add(this);
  }

  outcome(tag: number, outcome: Outcome): void {
    this.#missing--;
    try {
      this.#answers[tag] = this.#project(outcome, tag);
    } catch (error) {
      this.#end();
      this.#settle.reject(error);
    }
  }

  prepare(): void {
    this.#isSealed = this.#missing === 0;
  }

  release(position: Uint8Array): void {
    if (this.#isSealed) {
      this.#end();
      this.#settle.resolve({ value: this.#answers, position });
    }
  }

  fault(error: unknown): void {
    this.#end();
    this.#settle.reject(error);
  }

  /** What was begun is answered also while the kernel goes away. */
  drain(): void {}

  abort(rejection: Rejection): void {
    this.#end();
    this.#settle.reject(new RejectionError(rejection));
  }

  #end(): void {
    this.#edge.lifecycle.remove(this);
  }
}

import { readU64 } from "@pawl/server/log/bytes.js";
import type { Answer, Order } from "./answers.js";
import { textOf } from "./contents.js";
import { eventsOf, stateOf } from "./incarnations.js";
import type { ShadowLog } from "./shadow-log.js";
import type { Offer } from "./worker-connection.js";

/** Something that the kernel told somebody: it must be in the log for ever. */
export interface Told {
  readonly order: Order;
  readonly answer: Extract<Answer, { accepted: true }>;
  readonly atMs: number;
}

/** Stands at the kernel's door: judges everything at the moment it leaves, and remembers it. */
export class Witness {
  readonly told: Told[] = [];
  readonly #shadow: ShadowLog;
  readonly #complain: (text: string) => void;
  readonly #nowMs: () => number;

  constructor(shadow: ShadowLog, complain: (text: string) => void, nowMs: () => number) {
    this.#shadow = shadow;
    this.#complain = complain;
    this.#nowMs = nowMs;
  }

  /** An answer leaves the kernel. */
  answered(order: Order, answer: Answer, position: Uint8Array): void {
    if (!answer.accepted) {
      return;
    }
    const { kind } = order.command;
    this.position(kind, position);
    this.durable(kind, answer.runNumber, answer.eventCount);
    this.told.push({ order, answer, atMs: this.#nowMs() });
  }

  /** Something that is computed from a run with so many events leaves the kernel. */
  durable(what: string, runNumber: number, eventCount: number): void {
    const durable = this.#shadow.runs.get(runNumber)?.events.length ?? 0;
    if (durable < eventCount) {
      this.#complain(
        `${what} left the kernel with event ${eventCount} of run ${runNumber}, but only ${durable} are durable`,
      );
    }
  }

  /** A task is offered: its lease must be durable, and what it says of recorded steps true. */
  offered(offer: Offer): void {
    const { runId, task, leaseVersion, eventCount, steps } = offer;
    const run = this.#shadow.find(runId);
    const events = run === undefined ? [] : eventsOf(run, eventCount);
    const isLeased = events.some(
      ({ body }) =>
        body.case === "taskLeased" &&
        body.value.task === task &&
        body.value.leaseVersion === leaseVersion,
    );
    if (!isLeased || (run?.events.length ?? 0) < eventCount) {
      this.#complain(
        `task ${task} of ${runId} was offered under lease ${leaseVersion}, which is not durable`,
      );
    }
    this.#outcomesOf(offer);
    const recorded = events.flatMap(({ body }) =>
      body.case === "stepRecorded" && body.value.task === task
        ? [`${body.value.name}=${textOf(body.value.value)}`]
        : [],
    );
    const told = [...steps].map(([name, value]) => `${name}=${value}`);
    if (recorded.join() !== told.join()) {
      this.#complain(
        `task ${task} of ${runId} was offered with steps ${told}, but ${recorded} are recorded`,
      );
    }
  }

  /** What it says of waits: all that had ended, in the order of their ends. */
  #outcomesOf({ runId, task, eventCount, outcomes }: Offer): void {
    const run = this.#shadow.find(runId);
    if (run === undefined) {
      return;
    }
    const { waits } = stateOf(run, eventCount);
    const ended = eventsOf(run, eventCount).flatMap(({ body }) =>
      body.case === "waitEnded" && body.value.task === task
        ? [waits[body.value.wait]?.declaration.name ?? ""]
        : [],
    );
    const told = [...outcomes.keys()];
    if (ended.join() !== told.join()) {
      this.#complain(
        `task ${task} of ${runId} was offered with the outcomes ${told}, but ${ended} are recorded`,
      );
    }
  }

  /** A position leaves the kernel: it must be a place in the durable log. */
  position(what: string, position: Uint8Array): void {
    const sequence = readU64(position, 23);
    if (!this.#shadow.has(sequence, position.slice(31, 63))) {
      this.#complain(
        `${what} left the kernel with position ${sequence}, which is no end of a durable segment (head: ${this.#shadow.head.sequence})`,
      );
    }
  }
}

import { localCaller } from "@pawl/server/core/caller.js";
import { specOf } from "@pawl/server/core/plan/change-spec.js";
import type { Run } from "@pawl/server/core/state.js";
import type {
  KernelApi,
  SessionLease,
  SessionListener,
  WorkerSession,
} from "@pawl/server/kernel/kernel-api.js";
import type { Outcome, Target } from "@pawl/server/kernel/outcome.js";
import { outcomePages } from "@pawl/server/rpc/streams/records.js";
import { type Answer, answerOf, type Order } from "./answers.js";
import type { Route, World } from "./caller.js";
import { textOf } from "./contents.js";
import { type Given, givenOf, type Page, pageOf } from "./functions/given.js";
import { type Lane, newLane } from "./network.js";
import { endedWaits, waitText } from "./wait-text.js";

/** A task that a worker is given. */
export interface Offer {
  readonly handle: number;
  readonly target: Target;
  readonly runId: string;
  readonly incarnation: number;
  readonly task: number;
  readonly taskName: string;
  readonly kind: string;
  readonly leaseVersion: number;
  readonly leaseMs: number;
  /** Recorded steps by name, as JSON text. */
  readonly steps: ReadonlyMap<string, string>;
  /** How waits ended, by name, in the order of their ends. */
  readonly outcomes: ReadonlyMap<string, string>;
  readonly eventCount: number;
  /** What is recorded for its code, as much as one page holds; of a warm one only what is new. */
  readonly page: Page;
  /** Up to which event the code in its worker's memory has been given outcomes; undefined: it reads all. */
  readonly warmThrough: number | undefined;
  /** True: it undoes what another task did. */
  readonly rollsBack: boolean;
}

/** Outcomes that came for a task under its lease, and from which event to which they are all. */
export interface Came {
  readonly handle: number;
  readonly after: number;
  readonly through: number;
  readonly given: readonly Given[];
}

/** What the kernel says on a connection. */
export type Said =
  | { readonly case: "welcome"; readonly lostHandles: readonly number[] }
  | { readonly case: "offer"; readonly offer: Offer }
  | { readonly case: "came"; readonly came: Came }
  | { readonly case: "cancel"; readonly handle: number }
  | { readonly case: "lost"; readonly handle: number };

interface Pending {
  readonly order: Order;
  readonly done: (answer: Answer) => void;
}

/**
 * The kernel's end of one connection of a worker: one receiver for all of its orders, offers and losses, as the edge's stream is. Nothing of
 * it survives the kernel's process.
 */
export class WorkerConnection implements SessionListener, Route {
  /** From the worker to the kernel. */
  readonly lane: Lane = newLane();
  readonly #downLane: Lane = newLane();
  readonly #world: World;
  readonly #peer: string;
  readonly #toWorker: (said: Said) => void;
  readonly #pending = new Map<number, Pending>();
  #session: WorkerSession | undefined;
  #kernel: KernelApi | undefined;
  /** Up to which event the worker was sent outcomes, by the handles of its leases. */
  readonly #sentThrough = new Map<number, number>();
  readonly #ended = new Map<SessionLease, Run>();
  #nextTag = 0;
  #gathered: ((position: Uint8Array) => void)[] = [];
  readonly #sealed: ((position: Uint8Array) => void)[] = [];

  /** @param toWorker called on the worker's side. */
  constructor(world: World, peer: string, toWorker: (said: Said) => void) {
    this.#world = world;
    this.#peer = peer;
    this.#toWorker = toWorker;
  }

  /** The hello arrives, with up to which event the worker was told outcomes of what it holds. */
  connect(
    kernel: KernelApi,
    hello: Parameters<KernelApi["connectSession"]>[0],
    heard: ReadonlyMap<number, number>,
  ): void {
    const { host, note } = this.#world;
    for (const [handle, through] of heard) {
      this.#sentThrough.set(handle, through);
    }
    this.#kernel = kernel;
    kernel.connectSession(hello, this).then(
      (session) => {
        if (host.kernel === kernel) {
          this.#session = session;
          this.#send({ case: "welcome", lostHandles: session.lostHandles });
        }
      },
      (error: unknown) => note(`${this.#peer} is not welcome: ${String(error)}`),
    );
  }

  /** Something that is memory only arrives. */
  signal(act: (session: WorkerSession) => void): void {
    if (this.#session !== undefined && this.#kernel === this.#world.host.kernel) {
      act(this.#session);
    }
  }

  execute(orders: readonly Order[], reply: (answers: readonly Answer[]) => void): void {
    this.#world.host.deliver((kernel) => {
      if (this.#session === undefined || this.#kernel !== kernel) {
        return; // The connection went with the process that it was opened to.
      }
      const answers = new Map<number, Answer>();
      for (const [index, order] of orders.entries()) {
        const tag = this.#nextTag++;
        this.#pending.set(tag, {
          order,
          done: (answer) => {
            answers.set(index, answer);
            if (answers.size === orders.length) {
              reply(orders.flatMap((_order, place) => answers.get(place) ?? []));
            }
          },
        });
        kernel.execute(order.target, order.command, localCaller, { receiver: this, tag });
      }
    });
  }

  outcome(tag: number, outcome: Outcome): void {
    const pending = this.#pending.get(tag);
    this.#pending.delete(tag);
    if (pending !== undefined) {
      const answer = answerOf(outcome);
      this.#gathered.push((position) => {
        this.#world.witness.answered(pending.order, answer, position);
        pending.done(answer);
      });
    }
  }

  ended(lease: SessionLease, run: Run): void {
    this.#ended.set(lease, run);
  }

  offer(lease: SessionLease, run: Run): void {
    const offer = offerOf(lease, run);
    this.#sentThrough.set(lease.handle, run.eventCount);
    this.#gathered.push((position) => {
      this.#world.witness.position("an offer", position);
      this.#world.witness.offered(offer);
      this.#send({ case: "offer", offer });
    });
  }

  cancel(handle: number): void {
    this.#gathered.push(() => this.#send({ case: "cancel", handle }));
  }

  lost(handle: number): void {
    this.#gathered.push(() => this.#send({ case: "lost", handle }));
  }

  /** The worker has forgotten this connection before it made the later one. */
  superseded(): void {}

  /** Nothing here may fail. */
  fault(error: unknown): void {
    throw error;
  }

  prepare(): void {
    for (const [lease, run] of this.#ended) {
      this.#tell(lease, run);
    }
    this.#ended.clear();
    this.#sealed.push(...this.#gathered);
    this.#gathered = [];
  }

  release(position: Uint8Array): void {
    const isHeard = this.#kernel !== undefined && this.#world.host.speaks(this.#kernel);
    for (const say of this.#sealed.splice(0)) {
      if (isHeard) {
        say(position);
      }
    }
  }

  /** Sends what ended since, in pages. */
  #tell({ handle, task, runNumber, leaseVersion }: SessionLease, run: Run): void {
    const sent = this.#sentThrough.get(handle);
    if (sent === undefined || run.tasks[task]?.leaseVersion !== leaseVersion) {
      return;
    }
    let after = sent;
    this.#sentThrough.set(handle, run.eventCount);
    const pages = outcomePages(run, task, sent, runNumber);
    for (const [index, page] of pages.entries()) {
      const given = page.map(givenOf);
      const isLast = index === pages.length - 1;
      const through = isLast ? run.eventCount : (given.at(-1)?.event ?? after);
      const came = { handle, after, through, given };
      after = through;
      this.#gathered.push((position) => {
        this.#world.witness.position("outcomes", position);
        this.#world.witness.durable("an outcome", runNumber, given.at(-1)?.event ?? 0);
        this.#send({ case: "came", came });
      });
    }
  }

  #send(said: Said): void {
    const what = `hears ${said.case}${said.case === "offer" ? ` of ${said.offer.runId} ${said.offer.taskName} v${said.offer.leaseVersion}` : ""}`;
    this.#world.network.send(this.#peer, what, () => this.#toWorker(said), this.#downLane);
  }
}

function offerOf({ handle, task, runNumber, warmThrough }: SessionLease, run: Run): Offer {
  const isWarm = warmThrough !== undefined;
  const state = run.tasks[task];
  const spec = specOf(run, task);
  if (state === undefined || spec === undefined) {
    throw new Error("expected the offered task to be there, but it is not");
  }
  const steps = new Map<string, string>();
  for (const step of run.steps) {
    if (step.task === task) {
      steps.set(step.name, textOf(step.value));
    }
  }
  return {
    handle,
    target: { kind: "run", namespace: run.namespace, runId: run.runId },
    runId: run.runId,
    incarnation: run.incarnation,
    task,
    taskName: spec.name,
    kind: spec.kind,
    leaseVersion: state.leaseVersion,
    leaseMs: spec.leaseMs,
    steps,
    outcomes: new Map(
      endedWaits(run, task).map((wait) => [wait.declaration.name, waitText(run, wait)]),
    ),
    eventCount: run.eventCount,
    page: pageOf(run, task, { runNumber, after: warmThrough ?? 0, isWarm }),
    warmThrough,
    rollsBack: state.rollsBack !== undefined,
  };
}

import type { WorkerSession } from "@pawl/server/kernel/kernel-api.js";
import { Attempt } from "./attempt.js";
import { Caller, type Route, type World } from "./caller.js";
import type { Diaries } from "./functions/diaries.js";
import { FunctionAttempt } from "./functions/function-attempt.js";
import { FunctionMemory } from "./functions/memory.js";
import type { FunctionProgram } from "./functions/program.js";
import { RollbackAttempt } from "./functions/rollback-attempt.js";
import { WarmFunctions } from "./functions/warm.js";
import type { LeaseHolder } from "./lease-holder.js";
import type { Workflow } from "./plans.js";
import type { Process } from "./process.js";
import type { WorkerSettings } from "./settings.js";
import type { Sinks } from "./sinks.js";
import { type Offer, type Said, WorkerConnection } from "./worker-connection.js";

/** What a worker is started with. */
export interface WorkerParts {
  readonly world: World;
  readonly process: Process;
  readonly sinks: Sinks;
  readonly settings: WorkerSettings;
  readonly workflows: readonly Workflow[];
  /** Functions by their kinds. */
  readonly functions: ReadonlyMap<string, FunctionProgram>;
  readonly diaries: Diaries;
  readonly stepBytes: number;
  /** See `PerformParts.settleMs`: from an operation's settle time to how late its calls really are. */
  readonly settleOf: (settleMs: number, callTimeoutMs: number) => number;
  readonly ignoresDeadline: boolean;
}

/** A connection without a word for this long is opened anew. */
const silenceMs = 8_000;

/**
 * A worker process: a session, its connection, and attempts. It follows the documented protocol of the Work stream and of its unary twins,
 * and nothing else.
 */
export class Worker extends Caller {
  readonly parts: WorkerParts;
  /** Functions that wait, in memory. */
  readonly warm: WarmFunctions = new WarmFunctions();
  readonly #attempts = new Set<LeaseHolder>();
  #sessionId = "";
  #lives = 0;
  #connection: WorkerConnection | undefined;
  #isUp = false;
  #heardAtMs = 0;
  #intents = 0;

  constructor(parts: WorkerParts) {
    super(parts.world, parts.process);
    this.parts = parts;
  }

  /** Begins a new life of the process. */
  begin(): void {
    this.process.begin();
    this.#lives++;
    this.#sessionId = `${this.process.name}-${this.#lives}`;
    this.#attempts.clear();
    this.warm.clear();
    this.#connect();
    this.#watchConnection();
  }

  /** Another intent id. */
  newIntentId(): string {
    this.#intents++;
    return `${this.#sessionId}/i${this.#intents}`;
  }

  /** The connection, for orders that go by it. */
  readonly route = (): Route | undefined => {
    const isUnary = this.world.prng.chance(this.parts.settings.unaryShare);
    return this.#isUp && !isUnary ? this.#connection : undefined;
  };

  /** Sends something that is memory only. */
  signal(what: string, act: (session: WorkerSession) => void): void {
    const connection = this.#connection;
    if (connection !== undefined && this.#isUp) {
      this.world.network.send(
        this.process.name,
        what,
        () => this.world.host.deliver(() => connection.signal(act)),
        connection.lane,
      );
    }
  }

  /** Whether there is a connection to renew leases by. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** An attempt has ended: its slot is free. */
  ended(attempt: LeaseHolder): void {
    if (this.#attempts.delete(attempt)) {
      this.signal("adds a credit", (session) => session.addCredits(1));
    }
  }

  #connect(): void {
    const { world, process } = this;
    const enter = process.entry();
    const connection: WorkerConnection = new WorkerConnection(world, process.name, (said) =>
      enter(() => {
        if (this.#connection === connection) {
          this.#hear(said);
        }
      }),
    );
    this.#connection = connection;
    this.#isUp = false;
    this.#heardAtMs = world.nowMs();
    const hello = {
      sessionId: this.#sessionId,
      worker: process.name,
      namespace: "default",
      serves: this.#kinds().map((kind) => ({ kind, queue: "" })),
      holds: this.#held().map(({ offer }) => ({
        handle: offer.handle,
        runId: offer.runId,
        task: offer.taskName,
        leaseVersion: offer.leaseVersion,
      })),
    };
    const heard = new Map(
      this.#held().map((held) => [
        held.offer.handle,
        held instanceof FunctionAttempt ? held.heardThrough : 0,
      ]),
    );
    world.network.send(
      process.name,
      "says hello",
      () => world.host.deliver((kernel) => connection.connect(kernel, hello, heard)),
      connection.lane,
    );
  }

  #kinds(): string[] {
    const { workflows, functions } = this.parts;
    return [...workflows.flatMap(({ code }) => [...code.keys()]), ...functions.keys()];
  }

  /** Opens the connection anew when nothing was heard for too long: it may be gone, or a message of it. */
  #watchConnection(): void {
    this.process.after(1_000 + this.world.prng.fraction() * 2_000, () => {
      const silentMs = this.world.nowMs() - this.#heardAtMs;
      if (silentMs > silenceMs || (!this.#isUp && silentMs > 2_000)) {
        this.#connect();
      }
      this.#watchConnection();
    });
  }

  #hear(said: Said): void {
    this.#heardAtMs = this.world.nowMs();
    switch (said.case) {
      case "welcome": {
        this.#isUp = true;
        for (const handle of said.lostHandles) {
          this.#byHandle(handle)?.lose();
        }
        const free = Math.max(0, this.parts.settings.slots - this.#attempts.size);
        this.signal("adds credits", (session) => session.addCredits(free));
        break;
      }
      case "offer":
        this.#take(said.offer);
        break;
      case "came": {
        const attempt = this.#byHandle(said.came.handle);
        if (attempt instanceof FunctionAttempt) attempt.hear(said.came.given, said.came);
        break;
      }
      case "cancel":
        this.#byHandle(said.handle)?.askToStop();
        break;
      case "lost":
        this.#byHandle(said.handle)?.lose();
    }
  }

  #take(offer: Offer): void {
    const isKnown = this.#held().some(
      (held) =>
        held.offer.runId === offer.runId &&
        held.offer.task === offer.task &&
        held.offer.leaseVersion >= offer.leaseVersion,
    );
    if (isKnown) {
      return;
    }
    const attempt = this.#attemptOf(offer);
    if (attempt === undefined) {
      const { name } = this.process;
      this.world.complain(`${name} was offered kind ${offer.kind}, which it never served`);
      return;
    }
    this.signal("acknowledges", (session) => session.acknowledge(offer.handle));
    this.#attempts.add(attempt);
    attempt.begin();
  }

  #attemptOf(offer: Offer): LeaseHolder | undefined {
    const { workflows, functions } = this.parts;
    const program = functions.get(offer.kind);
    if (program === undefined) {
      const code = workflows.find(({ code: codes }) => codes.has(offer.kind))?.code.get(offer.kind);
      return code === undefined ? undefined : new Attempt(this, offer, code);
    }
    return offer.rollsBack
      ? new RollbackAttempt(this, offer, program)
      : this.#functionOf(offer, program);
  }

  /** A function goes on where it stands in memory, if it does; else it begins at its top. */
  #functionOf(offer: Offer, program: FunctionProgram): LeaseHolder {
    const kept = this.warm.take(offer);
    // What it has dropped it reads from the beginning, whatever the kernel thinks.
    const isDropped = kept === undefined || this.world.prng.chance(0.1);
    const memory = isDropped ? new FunctionMemory(offer, program, this.parts.diaries) : kept;
    memory.forgetPending();
    return new FunctionAttempt(this, offer, { program, memory, isWarm: !isDropped });
  }

  #held(): LeaseHolder[] {
    return [...this.#attempts].filter((attempt) => !attempt.isLost);
  }

  #byHandle(handle: number): LeaseHolder | undefined {
    return this.#held().find(({ offer }) => offer.handle === handle);
  }
}

import type { EventBody } from "../core/event.js";
import type { Meter } from "../observe/meter.js";
import type { Committer } from "./committer.js";
import { noteOf } from "./notes.js";
import type { Receiver } from "./outcome.js";
import type { Clock, Timers } from "./ports.js";
import type { Position, PositionCodec } from "./position.js";
import type { Resident } from "./resident.js";
import { withOneMore } from "./short-list.js";
import { Turn } from "./turn.js";

/** What turns need of those around them. */
export interface TurnsParts {
  readonly timers: Timers;
  readonly committer: Committer;
  readonly positions: PositionCodec;
  readonly clock: Clock;
  readonly meter: Meter;
  /** Called before a turn is closed: what the dispatcher gives out joins the same segment. */
  readonly beforeCommit: () => void;
  /** Runs have new slices. Called when the segment was handed over, before it is durable. */
  readonly unsaved: (residents: readonly Resident[], bytes: number) => void;
  /** A turn is durable, and everyone was released. */
  readonly durable: (turn: Turn) => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Gathers what is decided into turns and commits them: one batch in flight, the next gathers meanwhile, never a timer between. Nothing
 * leaves before it is durable.
 */
export class Turns {
  readonly #parts: TurnsParts;
  #turn = new Turn();
  #inFlight: Turn | undefined;
  #isScheduled = false;
  /** A commit was asked for while one was in flight; without events it still lets the dispatcher match. */
  #isWanted = false;
  #isStopped = false;
  #durableHead: Position;
  #idle: (() => void)[] = [];

  constructor(parts: TurnsParts) {
    this.#parts = parts;
    this.#durableHead = parts.committer.pendingHead;
  }

  /** Where the durable log ends. */
  get durableHead(): Position {
    return this.#durableHead;
  }

  /** Runs with events in the turn that gathers. */
  get gathering(): readonly Resident[] {
    return this.#turn.touched;
  }

  /** Time that the events which gather now are told from. */
  get baseMs(): number {
    return this.#turn.baseMs;
  }

  /** Position of everything handed over so far. */
  position(): Uint8Array {
    return this.#parts.positions.encode(this.#parts.committer.pendingHead);
  }

  /** Position of everything that is durable. */
  durablePosition(): Uint8Array {
    return this.#parts.positions.encode(this.#durableHead);
  }

  /** Has a receiver released with the turn that gathers. */
  register(receiver: Receiver): void {
    this.#turn.receivers.add(receiver);
    this.schedule();
  }

  /** True while a receiver holds something of a turn that is not durable. */
  isHeldFor(receiver: Receiver): boolean {
    return this.#turn.receivers.has(receiver) || this.#inFlight?.receivers.has(receiver) === true;
  }

  /** Adds an event that was applied to a resident's state. */
  push(resident: Resident, body: EventBody, nowMs: number): void {
    const turn = this.#turn;
    if (turn.eventCount === 0) {
      turn.baseMs = nowMs;
    }
    if (resident.pending.length === 0) {
      turn.touched.push(resident);
    }
    const deltaMs = Math.max(0, nowMs - turn.baseMs);
    resident.pending = withOneMore(resident.pending, { deltaMs, body });
    turn.eventCount++;
    const note = noteOf(body, resident.run, resident.number);
    if (note !== undefined) {
      turn.notes ??= [];
      turn.notes.push(note);
    }
  }

  /** Asks for a commit: at once when idle, otherwise when the one in flight is durable. */
  schedule(): void {
    if (this.#inFlight !== undefined) {
      this.#isWanted = true;
    } else if (!this.#isScheduled) {
      this.#isScheduled = true;
      this.#parts.timers.soon(() => {
        this.#isScheduled = false;
        this.#commit();
      });
    }
  }

  /** Resolves when nothing is gathered or in flight. */
  async drained(): Promise<void> {
    while (
      !this.#isStopped &&
      (this.#inFlight !== undefined || !this.#turn.isEmpty || this.#isScheduled)
    ) {
      await new Promise<void>((resolve) => {
        this.#idle.push(resolve);
        this.schedule();
      });
    }
  }

  /** Commits nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.#wakeIdle();
  }

  #commit(): void {
    if (this.#isStopped) {
      return;
    }
    if (this.#inFlight !== undefined) {
      this.#isWanted = true;
      return;
    }
    this.#isWanted = false;
    this.#parts.beforeCommit();
    if (this.#isStopped) {
      return; // What the dispatcher needed could not be read.
    }
    const turn = this.#turn;
    this.#turn = new Turn();
    // A run that was touched may have lost its events again to a fault.
    if (!turn.touched.some(({ pending }) => pending.length > 0)) {
      this.#releaseRead(turn);
      return;
    }
    this.#inFlight = turn;
    const beganMs = this.#parts.clock.monotonicMs();
    try {
      const { bytes, durable } = this.#parts.committer.commit(turn);
      this.#parts.unsaved(turn.touched, bytes);
      prepareAll(turn);
      durable
        .then(() => {
          const seconds = (this.#parts.clock.monotonicMs() - beganMs) / 1000;
          this.#parts.meter.committed({ seconds, bytes, events: turn.eventCount });
          this.#durable(turn);
        })
        .catch((error: unknown) => this.#parts.failed(error));
    } catch (error) {
      this.#parts.failed(error);
    }
  }

  #durable(turn: Turn): void {
    this.#inFlight = undefined;
    this.#durableHead = this.#parts.committer.pendingHead;
    const position = this.position();
    releaseAll(turn, position);
    this.#parts.durable(turn);
    this.#goOn();
  }

  /** A turn without events is durable as soon as what came before it is. */
  #releaseRead(turn: Turn): void {
    if (turn.receivers.size > 0) {
      const position = this.position();
      prepareAll(turn);
      releaseAll(turn, position);
    }
    this.#goOn();
  }

  #goOn(): void {
    if (this.#turn.isEmpty && !this.#isWanted) {
      this.#wakeIdle();
    } else {
      this.#commit();
    }
  }

  #wakeIdle(): void {
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) {
      resolve();
    }
  }
}

/** Has everyone encode what is to be sent. Whoever fails at it ends alone: the log and all others are sound. */
function prepareAll({ receivers }: Turn): void {
  for (const receiver of receivers) {
    try {
      receiver.prepare();
    } catch (error) {
      receivers.delete(receiver);
      receiver.fault(error);
    }
  }
}

function releaseAll({ receivers }: Turn, position: Uint8Array): void {
  for (const receiver of receivers) {
    try {
      receiver.release(position);
    } catch (error) {
      receiver.fault(error);
    }
  }
}

import type { Watcher as KernelWatcher, WatchedEvent } from "@pawl/server/kernel/kernel-api.js";
import { RejectionError } from "@pawl/server/kernel/outcome.js";
import { readU64 } from "@pawl/server/log/bytes.js";
import { Caller, type World } from "./caller.js";
import { type Lane, newLane } from "./network.js";
import type { Process } from "./process.js";

/** An event as the watcher got it. */
export interface Seen {
  readonly sequence: number;
  readonly runNumber: number;
  readonly number: number;
  readonly what: string;
}

/** Watches the namespace, over connections that break at any time, by positions. */
export class Watcher extends Caller {
  /** What it saw since it could begin last. */
  readonly seen: Seen[] = [];
  /** The sequence after which it began to see; undefined: it never could. */
  since: number | undefined;
  #position: Uint8Array = new Uint8Array(0);
  #connections = 0;

  constructor(parts: { readonly world: World; readonly process: Process }) {
    super(parts.world, parts.process);
  }

  /** Begins. */
  begin(): void {
    this.process.begin();
    this.#connect();
  }

  #connect(): void {
    const { world, process } = this;
    const number = ++this.#connections;
    const stream = new WatchStream(world, process, (hear) => {
      if (number === this.#connections) {
        hear();
      }
    });
    const position = this.#position;
    world.network.send(
      process.name,
      `watches from ${this.seen.at(-1)?.sequence ?? "now"}`,
      () => this.#watch(stream, position),
      newLane(true),
    );
    const look = (): void => {
      if (number !== this.#connections) {
        return;
      }
      if (world.nowMs() - stream.heardAtMs > 4_000) {
        world.host.deliver(() => stream.close());
        this.#connect();
      } else {
        process.after(1_000, look);
      }
    };
    process.after(1_000, look);
  }

  #watch(stream: WatchStream, position: Uint8Array): void {
    const { host, witness, note } = this.world;
    host.deliver((kernel) => {
      const watching = kernel.watchRuns({ namespace: "default", workflow: "" }, position, {
        events: (batch, at, bytes) => {
          if (!host.speaks(kernel)) {
            return;
          }
          witness.position("watched events", at);
          for (const { runNumber, event } of batch) {
            witness.durable("a watched event", runNumber, event.number);
          }
          const seen = batch.map(seenOf);
          stream.say(`sees ${seen.length} events`, () => {
            this.seen.push(...seen);
            this.#position = at;
          });
          stream.watcher?.taken(bytes);
        },
        end: (reason) => note(`the watch ends: ${reason}`),
        fail: (error) => this.#refused(error, stream),
      });
      watching.then(
        (watcher) => {
          stream.begin(watcher, () => {
            if (this.since === undefined) {
              this.since = sequenceOf(watcher.position);
              this.#position = watcher.position;
            }
          });
        },
        (error: unknown) => {
          stream.begin({ position, close: () => {}, taken: () => {} }, () => {});
          this.#refused(error, stream);
        },
      );
    });
  }

  #refused(error: unknown, stream: WatchStream): void {
    if (!(error instanceof RejectionError)) {
      return; // The kernel failed; the silence is noticed.
    }
    if (error.code !== "PAWL_POSITION_TRIMMED") {
      this.world.complain(`the watcher's position was refused: ${error.message}`);
    }
    // What lies between is gone from the log: it begins anew.
    stream.say(`is refused: ${error.code}`, () => this.#beginAnew());
  }

  #beginAnew(): void {
    this.seen.length = 0;
    this.since = undefined;
    this.#position = new Uint8Array(0);
    this.#connect();
  }
}

/** The kernel's end of one watch. A stream that loses a message is broken: nothing of it comes any more. */
class WatchStream {
  heardAtMs: number;
  watcher: KernelWatcher | undefined;
  readonly #lane: Lane = newLane(true);
  readonly #world: World;
  readonly #process: Process;
  readonly #enter: (run: () => void) => void;
  readonly #take: (hear: () => void) => void;
  #early: (() => void)[] | undefined = [];
  #isBroken = false;

  constructor(world: World, process: Process, take: (hear: () => void) => void) {
    this.#world = world;
    this.#process = process;
    this.#enter = process.entry();
    this.#take = take;
    this.heardAtMs = world.nowMs();
  }

  /** Says where it begins, before all else. */
  begin(watcher: KernelWatcher, hear: () => void): void {
    this.watcher = watcher;
    const early = this.#early;
    this.#early = undefined;
    this.say("is connected", hear);
    for (const say of early ?? []) {
      say();
    }
  }

  say(what: string, hear: () => void): void {
    if (this.#early !== undefined) {
      this.#early.push(() => this.say(what, hear));
      return;
    }
    const deliver = (): void =>
      this.#enter(() => {
        this.heardAtMs = this.#world.nowMs();
        this.#take(hear);
      });
    this.#isBroken ||= !this.#world.network.send(this.#process.name, what, deliver, this.#lane);
  }

  close(): void {
    this.#isBroken = true;
    this.watcher?.close();
  }
}

/** Positions are opaque to everyone but those who judge. */
function sequenceOf(position: Uint8Array): number {
  return readU64(position, 23);
}

function seenOf({ runNumber, event }: WatchedEvent): Seen {
  const { sequence, number, body } = event;
  return { sequence, runNumber, number, what: body.case };
}

import { decodeEvents } from "./decode-events.js";
import type { WatchedEvent, Watcher, WatchListener } from "./kernel-api.js";
import type { Position, PositionCodec } from "./position.js";
import type { Resident } from "./resident.js";
import type { EventNames } from "./storage/event-names.js";
import type { Turn } from "./turn.js";

/** Bytes that a watcher may leave untaken before it is ended. */
export const watcherBytesMax: number = 4 * 1024 * 1024;

/** Positions within one run's history name no segment: they continue a watch of that run only. */
const noHash = new Uint8Array(32);

/** Which events a watcher wants. */
export interface WatchFilter {
  /** One run; undefined: all of the namespace. */
  readonly runNumber: number | undefined;
  readonly namespace: string;
  /** Empty: all. */
  readonly workflow: string;
  /** True: operations of scope NAMESPACE as well. Default: runs only. */
  readonly withLedgers?: boolean;
}

/** Durable events after a place, a page at a time, for those who come late. */
export type CatchUp = (
  filter: WatchFilter,
  after: Position,
  through: number,
) => AsyncIterable<{
  readonly events: readonly WatchedEvent[];
  readonly bytes: number;
  /** End of the segment that the page comes from; absent for a page of one run's history. */
  readonly position?: Position;
}>;

/** What the hub needs of the kernel. */
export interface WatchHubParts {
  readonly positions: PositionCodec;
  readonly head: () => Position;
  readonly catchUp: CatchUp;
  readonly names: EventNames;
  /** True when the run has ended as far as is durable. */
  readonly isClosed: (runNumber: number) => Promise<boolean>;
}

interface Watch {
  readonly filter: WatchFilter;
  readonly listener: WatchListener;
  /** Last sequence delivered or passed over. */
  delivered: Position;
  untakenBytes: number;
  /** Live batches that came while it was still catching up. */
  waiting:
    | {
        readonly events: readonly WatchedEvent[];
        readonly bytes: number;
        readonly position: Position;
      }[]
    | undefined;
  isEnded: boolean;
  /** Lets a catch-up go on that waits for the reader. */
  resume: () => void;
}

/**
 * Gives durable events to watchers: gap-free and without repeats, whatever the position they come with. Each has a bounded buffer;
 * a watcher that is too slow is ended with the position to go on from, and slows nobody else.
 */
export class WatchHub {
  readonly #parts: WatchHubParts;
  readonly #watches = new Set<Watch>();

  constructor(parts: WatchHubParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#watches.size;
  }

  /** Adds a watcher that continues after `from`, a position that was judged. */
  watch(filter: WatchFilter, from: Position, listener: WatchListener): Watcher {
    const head = this.#parts.head();
    const watch: Watch = {
      filter,
      listener,
      delivered: from,
      untakenBytes: 0,
      waiting: [],
      isEnded: false,
      resume: () => {},
    };
    this.#watches.add(watch);
    this.#catchUp(watch, head).catch((error: unknown) => this.#fail(watch, error));
    return {
      position: this.#parts.positions.encode(from),
      close: () => this.#remove(watch),
      taken: (bytes) => {
        watch.untakenBytes -= bytes;
        watch.resume();
      },
    };
  }

  /** Gives out the events of a turn that has become durable. */
  durable(turn: Turn, head: Position): void {
    if (this.#watches.size === 0) {
      return;
    }
    const decoded = new Map<number, readonly WatchedEvent[]>();
    const all = [...turn.slices.keys()];
    const byRun = slicesByRun(turn);
    for (const watch of this.#watches) {
      const { runNumber } = watch.filter;
      const events: WatchedEvent[] = [];
      let bytes = 0;
      for (const index of runNumber === undefined ? all : (byRun.get(runNumber) ?? [])) {
        const slice = turn.slices[index];
        const resident = turn.sliceOwners[index];
        if (
          slice === undefined ||
          resident === undefined ||
          !matchesFilter(watch.filter, resident)
        ) {
          continue;
        }
        const ofSlice =
          decoded.get(index) ?? this.#parts.names.describe(resident, [...decodeEvents(slice)]);
        decoded.set(index, ofSlice);
        events.push(...ofSlice);
        bytes += slice.bytes.length;
      }
      this.#offer(watch, { events, bytes, position: head });
    }
  }

  /** Ends every watcher: the kernel goes away. */
  drain(): void {
    for (const watch of [...this.#watches]) {
      this.#end(watch, "draining");
    }
  }

  #offer(
    watch: Watch,
    batch: { events: readonly WatchedEvent[]; bytes: number; position: Position },
  ): void {
    if (watch.waiting !== undefined) {
      if (batch.events.length > 0) {
        watch.waiting.push(batch);
        watch.untakenBytes += batch.bytes;
        this.#endIfSlow(watch);
      }
      return;
    }
    this.#deliver(watch, batch);
  }

  #deliver(
    watch: Watch,
    batch: { events: readonly WatchedEvent[]; bytes: number; position: Position },
  ): void {
    const fresh = batch.events.filter(({ event }) => event.sequence > watch.delivered.sequence);
    watch.delivered = batch.position;
    if (fresh.length === 0 || watch.isEnded) {
      return;
    }
    watch.untakenBytes += batch.bytes;
    watch.listener.events(fresh, this.#parts.positions.encode(batch.position), batch.bytes);
    // While it catches up, what ended may have begun once more: whether the run is over is asked when it has.
    const isLive = watch.filter.runNumber !== undefined && watch.waiting === undefined;
    if (isLive && endsClosed(fresh)) {
      this.#end(watch, "closed");
    } else {
      this.#endIfSlow(watch);
    }
  }

  async #catchUp(watch: Watch, head: Position): Promise<void> {
    const { filter, delivered } = watch;
    let last = delivered.sequence;
    for await (const page of this.#parts.catchUp(filter, delivered, head.sequence)) {
      if (watch.isEnded) {
        return;
      }
      const end = page.position?.sequence ?? page.events.at(-1)?.event.sequence ?? last;
      this.#deliver(watch, {
        ...page,
        position: page.position ?? { sequence: end, hash: noHash },
      });
      last = end;
      while (watch.untakenBytes > watcherBytesMax / 2 && !watch.isEnded) {
        await new Promise<void>((resolve) => {
          watch.resume = resolve;
        });
      }
    }
    const waiting = watch.waiting ?? [];
    watch.waiting = undefined;
    watch.delivered = watch.delivered.sequence > head.sequence ? watch.delivered : head;
    for (const batch of waiting) {
      watch.untakenBytes -= batch.bytes;
      this.#deliver(watch, batch);
    }
    // No event may come any more, when the position was at the end already.
    if (filter.runNumber !== undefined && !watch.isEnded) {
      if (await this.#parts.isClosed(filter.runNumber)) {
        this.#end(watch, "closed");
      }
    }
  }

  #endIfSlow(watch: Watch): void {
    if (watch.untakenBytes > watcherBytesMax) {
      this.#end(watch, "slow");
    }
  }

  #end(watch: Watch, reason: "closed" | "slow" | "draining"): void {
    if (!watch.isEnded) {
      this.#remove(watch);
      watch.listener.end(reason, this.#parts.positions.encode(watch.delivered));
    }
  }

  #fail(watch: Watch, error: unknown): void {
    if (!watch.isEnded) {
      this.#remove(watch);
      watch.listener.fail(error);
    }
  }

  #remove(watch: Watch): void {
    watch.isEnded = true;
    this.#watches.delete(watch);
    watch.resume();
  }
}

/** Places of a turn's slices by run: a thousand watchers of single runs must not each look at every slice. */
function slicesByRun(turn: Turn): ReadonlyMap<number, readonly number[]> {
  const byRun = new Map<number, number[]>();
  for (const [index, resident] of turn.sliceOwners.entries()) {
    const places = byRun.get(resident.number);
    if (places === undefined) {
      byRun.set(resident.number, [index]);
    } else {
      places.push(index);
    }
  }
  return byRun;
}

/** True for a run that the filter wants. */
export function matchesFilter(filter: WatchFilter, resident: Resident): boolean {
  const { run } = resident;
  return filter.runNumber !== undefined
    ? filter.runNumber === resident.number
    : (run.kind === "run" || filter.withLedgers === true) &&
        run.namespace === filter.namespace &&
        (filter.workflow === "" || run.workflow === filter.workflow);
}

/** True when a run is over after these events of it. */
function endsClosed(events: readonly WatchedEvent[]): boolean {
  const last = events.findLast(({ event: { body } }) => opensOrCloses.has(body.case));
  return last?.event.body.case === "runClosed";
}

/** Events after which a run is over, or is open again. */
const opensOrCloses: ReadonlySet<string> = new Set(["runClosed", "runRestarted", "runRewound"]);

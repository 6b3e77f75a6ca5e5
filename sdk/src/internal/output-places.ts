import type { OutputPlace } from "../output.js";

/** Most places that the kernel takes in a request. */
const PLACES_MAX = 1_000;

/** How far a reader of live output has come, by task and channel. */
export class OutputPlaces {
  readonly #tasks = new Map<string, Map<string, OutputPlace>>();
  readonly #ended = new Set<string>();

  constructor(after: readonly OutputPlace[]) {
    for (const { task, leaseVersion, channel, number } of after) {
      this.reach({ task, leaseVersion, channel, number });
    }
  }

  /** A chunk came. The number of the one before it in its channel, 0 for none; undefined when it is no news. */
  reach(place: OutputPlace): number | undefined {
    const { task, leaseVersion, channel, number } = place;
    let channels = this.#tasks.get(task) ?? new Map<string, OutputPlace>();
    const [known] = channels.values();
    if (known !== undefined && known.leaseVersion > leaseVersion) return undefined;
    if (known !== undefined && known.leaseVersion < leaseVersion) channels = new Map();
    const before = channels.get(channel)?.number ?? 0;
    if (number <= before) return undefined;
    channels.set(channel, place);
    // The one that was reached last is the last to be left out.
    this.#tasks.delete(task);
    this.#tasks.set(task, channels);
    return before;
  }

  /** A task begins again; empty: all do. */
  forget(task: string): void {
    if (task === "") {
      this.#tasks.clear();
      this.#ended.clear();
    } else {
      this.#tasks.delete(task);
      this.#ended.delete(task);
    }
  }

  /** A task has ended. False when that is no news. */
  end(task: string): boolean {
    if (this.#ended.has(task)) return false;
    this.#ended.add(task);
    return true;
  }

  /** As many places as the kernel takes, those of the tasks that were heard of last. */
  list(): OutputPlace[] {
    const places = [...this.#tasks.values()].flatMap((channels) => [...channels.values()]);
    return places.slice(-PLACES_MAX);
  }
}

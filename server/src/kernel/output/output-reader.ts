import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { RejectionError } from "../outcome.js";
import type { OutputEntry, OutputFilter, OutputReading } from "./output-entry.js";
import type { RunOutput } from "./run-output.js";
import type { KeptChunk, TaskOutput } from "./task-output.js";

/** Entries, and bytes of content, that are given at a time. */
const batchEntriesMax = 1000;
const batchBytesMax = 262_144;

/** What a reader has of a task. */
interface Known {
  readonly leaseVersion: number;
  /** Last number of each channel, whether it was given or dropped. */
  readonly numbers: Map<string, number>;
}

/** Something to tell, at its place among everything that happened. */
interface Happening {
  readonly place: number;
  readonly task: TaskOutput | undefined;
  readonly chunk: KeptChunk | undefined;
}

/**
 * A reader of the live output of one run. It holds no chunks: it looks at what the tasks keep when it has room for more, and counts by
 * the numbers what is not there any more. So a slow reader costs nothing, and slows nobody.
 */
export class OutputReader implements OutputReading {
  readonly #output: RunOutput;
  readonly #filter: OutputFilter;
  readonly #lastPlace: () => number;
  readonly #onClose: () => void;
  readonly #known = new Map<string, Known>();
  /** Everything up to this place was looked at. */
  #place = 0;
  /** With `once`: nothing beyond it is told. */
  #untilPlace: number | undefined;
  #isDone = false;
  #failure: RejectionError | undefined;
  #wake: (() => void) | undefined;

  /**
   * @param lastPlace place of the last thing that happened.
   * @param onClose called when nobody reads any more.
   */
  constructor(
    output: RunOutput,
    filter: OutputFilter,
    lastPlace: () => number,
    onClose: () => void,
  ) {
    this.#output = output;
    this.#filter = filter;
    this.#lastPlace = lastPlace;
    this.#onClose = onClose;
    for (const place of filter.after) {
      this.#knowPlace(place);
    }
  }

  /** The one task that it reads; undefined: all. */
  get task(): string | undefined {
    return this.#filter.task;
  }

  /** Tasks that it has something of. */
  get knownTasks(): Iterable<string> {
    return this.#known.keys();
  }

  async next(signal: AbortSignal): Promise<readonly OutputEntry[] | undefined> {
    this.#untilPlace ??= this.#filter.once ? this.#lastPlace() : Number.POSITIVE_INFINITY;
    for (;;) {
      signal.throwIfAborted();
      const entries = this.#isDone ? [] : this.#take(this.#untilPlace);
      if (entries.length > 0) {
        return entries;
      }
      if (this.#isDone || this.#place >= this.#untilPlace) {
        return undefined;
      }
      if (this.#failure !== undefined) {
        throw this.#failure;
      }
      await this.#more(signal);
    }
  }

  close(): void {
    this.#onClose();
  }

  /** There may be more. */
  wake(): void {
    this.#wake?.();
  }

  /** Ends it, after what is there already. */
  fail(error: RejectionError): void {
    this.#failure = error;
    this.#wake?.();
  }

  #more(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener("abort", wake);
        this.#wake = undefined;
        resolve();
      };
      this.#wake = wake;
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  #knowPlace({ task, leaseVersion, channel, number }: OutputFilter["after"][number]): void {
    if (!this.#wantsTask(task) || !this.#wantsChannel(channel)) {
      return;
    }
    const known = this.#known.get(task);
    if (known === undefined || known.leaseVersion < leaseVersion) {
      const numbers = new Map([[channel, number]]);
      this.#known.set(task, { leaseVersion, numbers });
    } else if (known.leaseVersion === leaseVersion) {
      known.numbers.set(channel, Math.max(number, known.numbers.get(channel) ?? 0));
    }
  }

  #wantsTask(name: string): boolean {
    return this.#filter.task === undefined || this.#filter.task === name;
  }

  #wantsChannel(name: string): boolean {
    return this.#filter.channel === undefined || this.#filter.channel === name;
  }

  /** The next entries, in the order in which they happened. Empty: there is nothing up to that place. */
  #take(untilPlace: number): OutputEntry[] {
    const entries: OutputEntry[] = [];
    let bytes = 0;
    // What happened may be nothing for this reader: then it looks further.
    while (entries.length === 0) {
      const { happenings, through } = this.#look(untilPlace);
      for (const happening of happenings) {
        this.#tell(happening, entries);
        this.#place = happening.place;
        bytes += happening.chunk?.payload.length ?? 0;
        if (this.#isDone || bytes > batchBytesMax || entries.length >= batchEntriesMax) {
          return entries;
        }
      }
      this.#place = Math.max(this.#place, through);
      if (happenings.length === 0) {
        break;
      }
    }
    return entries;
  }

  /** What happened next, and the place up to which that is all. */
  #look(untilPlace: number): { happenings: readonly Happening[]; through: number } {
    const { tasks, restartedAt, closedAt } = this.#output;
    const happenings: Happening[] = [];
    let through = Math.min(untilPlace, this.#lastPlace());
    const add = (place: number, task?: TaskOutput, chunk?: KeptChunk): void => {
      if (place > this.#place) {
        happenings.push({ place, task, chunk });
      }
    };
    for (const task of tasks.values()) {
      if (task.changedAt <= this.#place || !this.#wantsTask(task.name)) {
        continue;
      }
      add(task.beganAt, task);
      const chunks = task.after(this.#place, batchEntriesMax);
      for (const chunk of chunks) {
        add(chunk.place, task, chunk);
      }
      add(task.endedAt, task);
      if (chunks.length === batchEntriesMax) {
        through = Math.min(through, chunks.at(-1)?.place ?? through);
      }
    }
    add(restartedAt);
    add(closedAt);
    return {
      happenings: happenings
        .filter(({ place }) => place <= through)
        .sort((one, other) => one.place - other.place),
      through,
    };
  }

  #tell({ place, task, chunk }: Happening, entries: OutputEntry[]): void {
    if (task === undefined) {
      this.#tellRun(place, entries);
    } else if (chunk !== undefined) {
      this.#tellChunk(task, chunk, entries);
    } else if (place === task.beganAt) {
      this.#tellBegin(task, entries);
    } else {
      this.#tellEnd(task, entries);
    }
  }

  #tellRun(place: number, entries: OutputEntry[]): void {
    if (place === this.#output.restartedAt) {
      if ([...this.#known.values()].some(({ numbers }) => numbers.size > 0)) {
        entries.push({ kind: "reset", task: "", attempt: 0, leaseVersion: 0 });
      }
      this.#known.clear();
      return;
    }
    this.#isDone = true;
    entries.push({
      kind: "end",
      task: "",
      taskStatus: TaskStatus.UNSPECIFIED,
      runStatus: this.#output.closed,
      dropped: 0,
      forgotten: false,
    });
  }

  #tellBegin({ name, leaseVersion, attempt }: TaskOutput, entries: OutputEntry[]): void {
    const known = this.#known.get(name);
    if (known?.leaseVersion === leaseVersion) {
      return;
    }
    this.#known.set(name, { leaseVersion, numbers: new Map() });
    // Who had nothing of it has nothing to throw away.
    if (known !== undefined && known.numbers.size > 0) {
      entries.push({ kind: "reset", task: name, attempt, leaseVersion });
    }
  }

  #tellChunk(task: TaskOutput, chunk: KeptChunk, entries: OutputEntry[]): void {
    const { channel, number, payload } = chunk;
    const numbers = this.#numbersOf(task);
    const last = numbers.get(channel) ?? 0;
    if (!this.#wantsChannel(channel) || number <= last) {
      return;
    }
    numbers.set(channel, number);
    const { name, attempt, leaseVersion } = task;
    const dropped = number - last - 1;
    entries.push({
      kind: "chunk",
      task: name,
      ...{ attempt, leaseVersion, channel, number, dropped, payload },
    });
  }

  #tellEnd(task: TaskOutput, entries: OutputEntry[]): void {
    const numbers = this.#numbersOf(task);
    const isAskedFor = this.#filter.task !== undefined;
    let dropped = 0;
    for (const [channel, last] of task.lastNumbers) {
      if (this.#wantsChannel(channel)) {
        dropped += Math.max(0, last - (numbers.get(channel) ?? 0));
      }
    }
    if (isAskedFor || task.hasEmitted || numbers.size > 0) {
      entries.push({
        kind: "end",
        task: task.name,
        taskStatus: task.status,
        runStatus: RunStatus.UNSPECIFIED,
        dropped,
        forgotten: !task.hasEmitted,
      });
    }
    this.#isDone = isAskedFor;
  }

  #numbersOf({ name, leaseVersion }: TaskOutput): Map<string, number> {
    let known = this.#known.get(name);
    if (known === undefined) {
      known = { leaseVersion, numbers: new Map() };
      this.#known.set(name, known);
    }
    return known.numbers;
  }
}

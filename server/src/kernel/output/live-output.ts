import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { limits } from "../../core/limits.js";
import { nameOfTask } from "../../core/plan/tasks-of-run.js";
import type { Run } from "../../core/state.js";
import type { Lease } from "../lease-table.js";
import { type Receiver, RejectionError } from "../outcome.js";
import type { Cancellable, Timers } from "../ports.js";
import type { Found } from "../residency.js";
import type { Resident } from "../resident.js";
import type { EmittedChunk, OutputFilter, OutputReading } from "./output-entry.js";
import { OutputReader } from "./output-reader.js";
import { isOver, type OutputSnapshot, RunOutput, snapshotOf } from "./run-output.js";
import { TaskOutput } from "./task-output.js";

/** What live output needs of those around it. */
export interface LiveOutputParts {
  readonly timers: Timers;
  readonly now: () => number;
  readonly find: (runNumber: number) => Found;
  /** Has it released with the turn that gathers. */
  readonly register: (receiver: Receiver) => void;
}

/**
 * Live output: what attempts show while they run. It is kept in memory, within bounds, and read from there; nothing of it is in the log.
 * What it says of tasks and runs (that one begins again, that one has ended) is told when that is durable.
 */
export class LiveOutput implements Receiver {
  readonly #parts: LiveOutputParts;
  readonly #runs = new Map<number, RunOutput>();
  /** Tasks with chunks, the one that emitted last at the end. */
  readonly #recent = new Set<TaskOutput>();
  /** Tasks without a live lease, each once, in the order in which their chunks go. */
  readonly #idle = new Set<TaskOutput>();
  #bytes = 0;
  /** Of the last thing that happened. */
  #place = 0;
  /** Tasks that something happened to in the turn that gathers, by run. */
  readonly #touched = new Map<number, Set<number>>();
  #gathering: OutputSnapshot[] = [];
  #sealed: OutputSnapshot[] = [];
  /** Runs whose readers are to be woken. */
  readonly #news = new Set<RunOutput>();
  #soon: Cancellable | undefined;
  #sweep: Cancellable | undefined;

  constructor(parts: LiveOutputParts) {
    this.#parts = parts;
  }

  /** Bytes that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Runs that it knows of. */
  get runs(): number {
    return this.#runs.size;
  }

  /** Something happened to a task, or (undefined) to its run. Costs nothing while nobody emits or reads. */
  touch(runNumber: number, task: number | undefined): void {
    if (this.#runs.size === 0 || !this.#runs.has(runNumber)) {
      return;
    }
    const tasks = this.#touched.get(runNumber) ?? new Set();
    this.#touched.set(runNumber, tasks);
    if (task !== undefined) {
      tasks.add(task);
    }
    this.#parts.register(this);
  }

  /** Why chunks cannot be taken that a lease emits: there are too many channels. Undefined when they can. */
  refusal(lease: Lease, chunks: readonly EmittedChunk[]): string | undefined {
    const channels = new Set(lease.output?.lastNumbers.keys());
    for (const { channel } of chunks) {
      channels.add(channel);
    }
    return channels.size > limits.outputChannelsMax
      ? `${channels.size} channels under one lease`
      : undefined;
  }

  /** Takes a chunk of a live lease, and keeps its content as it is. What is not wanted is left out: a number that came before, a channel too many. */
  emit(lease: Lease, chunk: EmittedChunk): void {
    const task = lease.output;
    if (task !== undefined) {
      this.#add(task, lease, chunk);
      return;
    }
    const found = this.#parts.find(lease.runNumber);
    if (found instanceof Promise) {
      void found.then(() => this.emit(lease, chunk));
    } else if (found !== undefined) {
      this.#beginToEmit(found, lease, chunk);
    }
  }

  /** Someone reads the output of a run from now on. Call `close` of what comes back. */
  open({ number, run }: Resident, filter: OutputFilter): OutputReading {
    const output = this.#outputOf(number);
    const reader: OutputReader = new OutputReader(
      output,
      filter,
      () => this.#place,
      () => this.#close(output, reader),
    );
    output.readers.add(reader);
    const names = new Set(reader.knownTasks);
    if (reader.task !== undefined) {
      names.add(reader.task);
    }
    this.#gathering.push(snapshotOf(number, run, names));
    this.#parts.register(this);
    return reader;
  }

  /** Ends all reading: the kernel goes away. */
  endReaders(error: RejectionError): void {
    for (const { readers } of this.#runs.values()) {
      for (const reader of readers) {
        reader.fail(error);
      }
    }
  }

  /** Calls all timers off. */
  close(): void {
    this.#soon?.cancel();
    this.#sweep?.cancel();
  }

  outcome(): void {}

  /** A turn is closed: its states are those that become durable with it. */
  prepare(): void {
    for (const [runNumber, tasks] of this.#touched) {
      const output = this.#runs.get(runNumber);
      const found = output === undefined ? undefined : this.#parts.find(runNumber);
      if (output !== undefined && found !== undefined && !(found instanceof Promise)) {
        const names = namesOf(output, found.run, tasks);
        this.#gathering.push(snapshotOf(runNumber, found.run, names));
      }
    }
    this.#touched.clear();
    this.#sealed.push(...this.#gathering);
    this.#gathering = [];
  }

  release(): void {
    const sealed = this.#sealed;
    this.#sealed = [];
    for (const snapshot of sealed) {
      this.#apply(snapshot);
    }
  }

  /** What it held back is lost: readers begin anew. */
  fault(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.endReaders(
      new RejectionError({
        reason: "PAWL_UNAVAILABLE",
        message: `Expected live output to be told, but the kernel failed at it: ${message} Next: read again.`,
        retryAfterMs: 1000,
      }),
    );
  }

  #beginToEmit({ run, number }: Resident, lease: Lease, chunk: EmittedChunk): void {
    const name = nameOfTask(run, lease.task);
    const state = run.tasks[lease.task];
    if (name === "" || state?.leaseVersion !== lease.leaseVersion || isIdle(state)) {
      return; // It has ended while its run was read.
    }
    const { attempt } = state;
    const output = this.#outputOf(number);
    if (output.incarnation === 0) {
      output.incarnation = run.incarnation;
    }
    const task = this.#taskOf(output, name);
    this.#begin(task, { leaseVersion: lease.leaseVersion, attempt });
    task.status = TaskStatus.LEASED;
    this.#wake(task);
    lease.output = task;
    this.#add(task, lease, chunk);
  }

  #add(task: TaskOutput, lease: Lease, chunk: EmittedChunk): void {
    // A later lease may have begun while the run of this one was read.
    if (task.leaseVersion !== lease.leaseVersion || !task.wants(chunk)) {
      return;
    }
    this.#bytes -= task.bytes;
    task.add(chunk, ++this.#place);
    this.#bytes += task.bytes;
    this.#recent.delete(task);
    this.#recent.add(task);
    while (this.#bytes > limits.outputBytesMax) {
      this.#dropLeastRecent();
    }
    const output = this.#runs.get(task.runNumber);
    if (output !== undefined) {
      this.#tell(output);
    }
  }

  /** Room for who emits: what was longest without new chunks loses its oldest. */
  #dropLeastRecent(): void {
    for (const task of this.#recent) {
      this.#bytes -= task.bytes;
      task.dropOldest();
      this.#bytes += task.bytes;
      if (task.size === 0) {
        this.#recent.delete(task);
      }
      return;
    }
  }

  #dropAll(task: TaskOutput): void {
    this.#bytes -= task.bytes;
    task.dropAll();
    this.#recent.delete(task);
  }

  #begin(task: TaskOutput, lease: { leaseVersion: number; attempt: number }): void {
    if (lease.leaseVersion > task.leaseVersion) {
      this.#dropAll(task);
      task.begin(lease, ++this.#place);
    }
  }

  #outputOf(runNumber: number): RunOutput {
    let output = this.#runs.get(runNumber);
    if (output === undefined) {
      output = new RunOutput(runNumber);
      this.#runs.set(runNumber, output);
    }
    return output;
  }

  #taskOf(output: RunOutput, name: string): TaskOutput {
    let task = output.tasks.get(name);
    if (task === undefined) {
      task = new TaskOutput(output.number, name);
      output.tasks.set(name, task);
    }
    return task;
  }

  #apply({ runNumber, incarnation, closed, tasks }: OutputSnapshot): void {
    const output = this.#runs.get(runNumber);
    if (output === undefined || incarnation < output.incarnation) {
      return;
    }
    if (output.incarnation !== 0 && incarnation > output.incarnation) {
      this.#restart(output);
    }
    output.incarnation = incarnation;
    for (const state of tasks) {
      this.#applyTask(this.#taskOf(output, state.name), state);
    }
    if (closed !== output.closed) {
      output.closed = closed;
      output.closedAt = closed === 0 ? 0 : ++this.#place;
    }
    this.#tell(output);
  }

  #applyTask(task: TaskOutput, state: OutputSnapshot["tasks"][number]): void {
    if (state.leaseVersion < task.leaseVersion) {
      return; // What is durable is behind what a worker was quick to emit.
    }
    this.#begin(task, state);
    const wasOver = isOver(task);
    task.status = state.status;
    if (isOver(task) && (!wasOver || task.endedAt === 0)) {
      task.endedAt = ++this.#place;
      task.changedAt = task.endedAt;
    }
    if (!isIdle(state)) {
      this.#wake(task);
    } else if (task.idleSinceMs === undefined) {
      task.idleSinceMs = this.#parts.now();
      this.#idle.add(task);
      this.#armSweep();
    }
  }

  /** A lease of the task is live. */
  #wake(task: TaskOutput): void {
    task.idleSinceMs = undefined;
    this.#idle.delete(task);
  }

  /** The run has begun once more: nothing of before counts any more. */
  #restart(output: RunOutput): void {
    for (const task of output.tasks.values()) {
      this.#dropAll(task);
    }
    output.tasks.clear();
    output.restartedAt = ++this.#place;
  }

  #tell(output: RunOutput): void {
    if (output.readers.size > 0) {
      this.#news.add(output);
      // What comes together is told together.
      this.#soon ??= this.#parts.timers.soon(() => {
        this.#soon = undefined;
        for (const { readers } of this.#news) {
          for (const reader of readers) {
            reader.wake();
          }
        }
        this.#news.clear();
      });
    }
  }

  #armSweep(): void {
    const [first] = this.#idle;
    if (this.#sweep === undefined && first !== undefined) {
      const keptMs = this.#parts.now() - (first.idleSinceMs ?? 0);
      this.#sweep = this.#parts.timers.after(Math.max(1, limits.outputKeptMs - keptMs), () => {
        this.#sweep = undefined;
        this.#forget();
        this.#armSweep();
      });
    }
  }

  /** Drops what was kept long enough without a lease. */
  #forget(): void {
    const nowMs = this.#parts.now();
    for (const task of this.#idle) {
      if (nowMs - (task.idleSinceMs ?? 0) < limits.outputKeptMs) {
        break;
      }
      this.#idle.delete(task);
      this.#dropAll(task);
      const output = this.#runs.get(task.runNumber);
      if (output !== undefined) {
        this.#tidy(output);
      }
    }
  }

  #close(output: RunOutput, reader: OutputReader): void {
    output.readers.delete(reader);
    this.#tidy(output);
  }

  /** Forgets what neither keeps anything nor is read nor can be emitted to under a number that counts. */
  #tidy(output: RunOutput): void {
    if (output.readers.size > 0) {
      return;
    }
    for (const task of output.tasks.values()) {
      const isLive = task.idleSinceMs === undefined && task.hasEmitted;
      if (!isLive && task.size === 0) {
        output.tasks.delete(task.name);
      }
    }
    if (output.tasks.size === 0) {
      this.#runs.delete(output.number);
    }
  }
}

function isIdle({ status }: { readonly status: TaskStatus }): boolean {
  return status !== TaskStatus.LEASED;
}

/** Of the tasks that something happened to, those that have output or are read; and those that someone reads, whose end may follow from another's. */
function namesOf(output: RunOutput, run: Run, touched: ReadonlySet<number>): Set<string> {
  const names = new Set<string>();
  for (const number of touched) {
    const name = nameOfTask(run, number);
    if (output.tasks.has(name)) {
      names.add(name);
    }
  }
  for (const { task } of output.readers) {
    if (task !== undefined) {
      names.add(task);
    }
  }
  return names;
}

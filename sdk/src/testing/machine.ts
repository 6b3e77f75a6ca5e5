import type { PawlClient } from "../client.js";
import { makeClient } from "../internal/make-client.js";
import { loadEmbedModule, type MemoryEmbedding } from "../open-kernel.js";
import type { WorkerOptions } from "../worker-options.js";
import { type CrashKill, type CrashPoint, type Moment, PointWatch } from "./crash-point.js";
import { makePipe } from "./pipe.js";
import type { PumpOwner } from "./pump.js";
import { SinkBooks } from "./test-sink.js";
import { OwnTime, VirtualTime } from "./virtual-time.js";
import { WorkerProcess } from "./worker-process.js";

/** Longer than any test: a connection inside this process needs no pings. */
const NO_PINGS_MS = 2_147_483_647;

/** A worker, over all the processes that it is one after the other. */
export interface MachineWorker {
  /** The present one. */
  process: WorkerProcess;
}

/** Everything that can crash: a kernel on a disk, and workers. What crashed is started again at once. */
export class Machine implements PumpOwner {
  readonly time: VirtualTime;
  readonly books: SinkBooks = new SinkBooks();
  /** Faults of the kernel's own code. */
  readonly faults: Error[] = [];
  /** Told of every moment that the code under test goes through. */
  onMoment: ((moment: Moment) => void) | undefined;
  /** True once the crash that was asked for has happened. */
  hasCrashed = false;
  readonly #workers = new Set<MachineWorker>();
  #memory: MemoryEmbedding | undefined;
  #kernelTime: OwnTime;
  #watch: { readonly point: PointWatch; readonly kill: CrashKill } | undefined;
  /** Crashes that are under way, one after the other. */
  #crashing: Promise<void> = Promise.resolve();
  #crashes = 0;
  #toldByDead = 0;
  #isClosed = false;

  private constructor(startMs: number) {
    this.time = new VirtualTime(startMs);
    this.#kernelTime = this.newTime();
  }

  /** Opens a kernel on an empty disk. */
  static async open(startMs: number): Promise<Machine> {
    const machine = new Machine(startMs);
    const { MemoryKernel } = await loadEmbedModule();
    machine.#memory = await MemoryKernel.open({
      time: machine.#kernelTime,
      onFault: (error, where) =>
        machine.faults.push(new Error(`The kernel failed at ${where}.`, { cause: error })),
    });
    return machine;
  }

  get isCrashing(): boolean {
    return this.#crashes > 0;
  }

  get told(): number {
    return [...this.#workers].reduce((sum, { process }) => sum + process.told, this.#toldByDead);
  }

  /** Leases that are open, tries that are to come, and whatever else ends by itself if time passes. */
  get isUnsettled(): boolean {
    const { leases = 0, backoffs = 0 } = this.#memory ?? {};
    return leases > 0 || backoffs > 0 || this.time.hasWait();
  }

  isAtOwnWork(): boolean {
    return [...this.#workers].some(
      ({ process }) => process.running > 0 && !this.time.hasWait(process.time),
    );
  }

  explain: () => Promise<string> = async () => "";

  /** The time of a new process. */
  newTime(): OwnTime {
    return new OwnTime(this.time, this.books);
  }

  /** The generated client over a connection of its own. */
  newApi(): PawlClient {
    return makeClient({
      url: "memory:",
      origin: "http://localhost",
      nodeOptions: { createConnection: () => this.#connect() },
      pingIntervalMs: NO_PINGS_MS,
      pingTimeoutMs: NO_PINGS_MS,
      interceptors: [],
    });
  }

  #connect(): ReturnType<typeof makePipe>[0] {
    const [ours, theirs] = makePipe(() => {
      this.time.activity++;
    });
    if (this.#memory === undefined) ours.destroy();
    else this.#memory.accept(theirs);
    return ours;
  }

  /** Starts a worker. */
  async startWorker(options: WorkerOptions): Promise<MachineWorker> {
    const process = this.#newProcess(options);
    await process.start();
    const worker = { process };
    this.#workers.add(worker);
    return worker;
  }

  /** Ends a worker in order. */
  async closeWorker(worker: MachineWorker, drainMs: number): Promise<void> {
    await this.#crashing;
    this.#workers.delete(worker);
    this.#toldByDead += worker.process.told;
    await worker.process.close(drainMs);
  }

  #newProcess(options: WorkerOptions): WorkerProcess {
    return new WorkerProcess({
      time: this.newTime(),
      api: this.newApi(),
      options,
      reached: (moment) => this.#reached(moment),
      cut: (process) => this.#cut(process),
      moved: () => {
        this.time.activity++;
      },
    });
  }

  /** Crashes once, when the code reaches this point. */
  crashAt(point: CrashPoint, kill: CrashKill): void {
    this.hasCrashed = false;
    this.#watch = { point: new PointWatch(point), kill };
  }

  #reached(moment: Moment): boolean {
    this.onMoment?.(moment);
    return this.#watch?.point.isReached(moment) === true;
  }

  #cut(process: WorkerProcess): void {
    const kill = this.#watch?.kill ?? "worker";
    this.#watch = undefined;
    const workers = [...this.#workers].filter((worker) => worker.process === process);
    this.hasCrashed = true;
    void this.crash(kill, workers);
  }

  /** Kills, and starts again what was killed. */
  crash(kill: CrashKill, workers: readonly MachineWorker[] = [...this.#workers]): Promise<void> {
    const killed = kill === "kernel" ? [] : workers;
    // The worker is gone at this very moment: nothing of it goes on while the rest is seen to.
    for (const { process } of killed) process.kill();
    this.#crashes++;
    const done = this.#crashing.then(() => this.#restart(kill !== "worker", killed));
    this.#crashing = done.catch((error: unknown) => {
      this.faults.push(new Error("What had crashed could not be started again.", { cause: error }));
    });
    void this.#crashing.then(() => {
      this.#crashes--;
    });
    return done;
  }

  async #restart(isKernel: boolean, killed: readonly MachineWorker[]): Promise<void> {
    if (isKernel && this.#memory !== undefined) {
      this.#kernelTime.kill();
      await this.#memory.kill();
      this.#kernelTime = this.newTime();
      await this.#memory.start(this.#kernelTime);
    }
    for (const worker of killed) {
      if (this.#isClosed) return;
      this.#toldByDead += worker.process.told;
      worker.process = this.#newProcess(worker.process.options);
      await worker.process.start();
    }
  }

  /** Ends everything at once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { process } of this.#workers) process.kill();
    this.#workers.clear();
    await this.#crashing;
    this.#kernelTime.kill();
    await this.#memory?.kill();
    this.#memory = undefined;
  }
}

import { type JsonValue, toJson } from "@bufbuild/protobuf";
import { HistoryEventSchema } from "@pawl/proto/v1/history_pb.js";
import type { Client } from "../connect.js";
import type { Duration } from "../duration.js";
import { ClientCore } from "../internal/client-core.js";
import { parseDuration } from "../internal/duration-ms.js";
import { KernelClient } from "../internal/kernel-client.js";
import { ConnectionMonitor } from "../internal/monitor.js";
import { inTime } from "../internal/time.js";
import type { CloseOptions, Worker, WorkerOptions } from "../worker-options.js";
import type { CrashKill, CrashPoint, Moment } from "./crash-point.js";
import { DrivenClient } from "./driven-client.js";
import { Machine, type MachineWorker } from "./machine.js";
import { type Haste, Pump } from "./pump.js";
import type { History } from "./replay.js";
import type { SinkEffect, TestSink } from "./test-sink.js";
import type { OwnTime } from "./virtual-time.js";

/** How a test environment begins. */
export interface TestEnvironmentOptions {
  /** What the clock says at the beginning. Default: now. */
  readonly startAt?: Date;
}

/** How a crash goes. */
export interface CrashOptions {
  /** What dies. Default `worker`. */
  readonly kill?: CrashKill;
}

/** Longest time that `settle` passes: 1 hour of the virtual clock. */
const SETTLE_MS_MAX = 3_600_000;

/** How long a worker that is closed waits for what runs, unless it is told otherwise, in virtual ms. */
const DRAIN_MS = 10_000;

/** A real kernel in memory, workers that run the code under test, and a clock that the test moves. */
export class TestEnvironment implements AsyncDisposable {
  /**
   * The ordinary client of the kernel. Time stands still, except that awaiting `run.result()`, `execute`, `perform` or `approvals.await` lets as much of it pass
   * as that takes.
   */
  readonly kernel: Client;
  readonly #machine: Machine;
  readonly #pump: Pump;
  readonly #time: OwnTime;
  readonly #client: KernelClient;
  readonly #core: ClientCore;
  #closed: Promise<void> | undefined;

  /** Made by `openTestEnvironment`. */
  constructor(machine: Machine) {
    this.#machine = machine;
    this.#pump = new Pump(machine.time, machine);
    this.#time = machine.newTime();
    const core = new ClientCore(machine.newApi(), "", new ConnectionMonitor(() => undefined));
    this.#core = core;
    this.#client = inTime(this.#time, () => new KernelClient(core));
    machine.explain = () => explainOpenRuns(this.#client);
    this.kernel = new DrivenClient(this.#client, {
      drive: (call, haste) => this.#drive(call, haste),
      inTime: (run) => inTime(this.#time, run),
      worker: (options) => this.worker(options),
      close: () => this.close(),
    });
  }

  /** What the clock says now. */
  now(): Date {
    return new Date(this.#machine.time.wallMs);
  }

  /** Starts a worker, as a process of its own; one that crashes is started again. */
  async worker(options: WorkerOptions): Promise<Worker> {
    const starting = this.#machine.startWorker(options);
    return new TestWorker(await this.#pump.drive(starting, "own"), {
      close: (worker, drainMs) =>
        this.#pump.drive(this.#machine.closeWorker(worker, drainMs), "any"),
    });
  }

  /** Lets so much time pass. Everything that falls due on the way happens, at its own moment; nothing is really waited for. */
  async advance(duration: Duration): Promise<void> {
    await this.#pump.advance(parseDuration(duration, "the duration of advance"));
    this.#throwFaults();
  }

  /**
   * Lets everything happen that needs no waiting by the code under test: after it, what runs waits for time, a signal, or a person. What a crash leaves to be
   * waited for (leases of dead workers, look-ups, backoffs) passes; at most 1 hour of the clock.
   */
  async settle(): Promise<void> {
    await this.#pump.passWhile(() => this.#machine.isUnsettled, SETTLE_MS_MAX);
    this.#throwFaults();
  }

  /** Crashes once, when the code under test reaches this point. What died is started again at once, and has only what was durable. */
  crashAt(point: CrashPoint, { kill = "worker" }: CrashOptions = {}): void {
    this.#machine.crashAt(point, kill);
  }

  /** Crashes now. Resolves when what died runs again. */
  crash({ kill = "worker" }: CrashOptions = {}): Promise<void> {
    return this.#pump.drive(this.#machine.crash(kill), "own");
  }

  /** True once the crash of `crashAt` has happened. */
  get hasCrashed(): boolean {
    return this.#machine.hasCrashed;
  }

  /** The history of a run, for `replay` with other code, or to be kept in a file. */
  async history(runId: string): Promise<History> {
    const { api, namespace } = this.#core;
    const events: JsonValue[] = [];
    const reading = async (): Promise<void> => {
      for await (const page of api.runs.getHistory({ namespace, runId, withStored: true })) {
        events.push(...page.events.map((event) => toJson(HistoryEventSchema, event)));
      }
    };
    await this.#pump.drive(inTime(this.#time, reading), "own");
    return events;
  }

  /** What a sink has done in this environment. */
  effects(sink: TestSink): SinkEffect[] {
    return this.#machine.books.effects(sink);
  }

  /** Effects of operations that reached no test sink: each of their calls that returned. */
  get calls(): readonly SinkEffect[] {
    return this.#machine.books.calls;
  }

  /** All sinks that did something in this environment. */
  get sinks(): readonly TestSink[] {
    return this.#machine.books.sinks;
  }

  /** Tells of every moment that the code under test goes through. Replaces who was told before. */
  onMoment(listener: (moment: Moment) => void): void {
    this.#machine.onMoment = listener;
  }

  /** Ends everything at once. Safe to call again. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#time.kill();
    this.#client.api.close();
    await this.#machine.close();
  }

  async #drive<T>(call: () => Promise<T>, haste: Haste): Promise<T> {
    const result = await this.#pump.drive(inTime(this.#time, call), haste);
    this.#throwFaults();
    return result;
  }

  #throwFaults(): void {
    const [fault] = this.#machine.faults;
    if (fault !== undefined) throw fault;
  }
}

/** A worker, whichever process it is now. */
class TestWorker implements Worker {
  readonly #worker: MachineWorker;
  readonly #owner: { close(worker: MachineWorker, drainMs: number): Promise<void> };
  #closed: Promise<void> | undefined;

  constructor(
    worker: MachineWorker,
    owner: { close(worker: MachineWorker, drainMs: number): Promise<void> },
  ) {
    this.#worker = worker;
    this.#owner = owner;
  }

  get sessionId(): string {
    return this.#worker.process.sessionId;
  }

  get running(): number {
    return this.#worker.process.running;
  }

  close({ drainMs = DRAIN_MS }: CloseOptions = {}): Promise<void> {
    this.#closed ??= this.#owner.close(this.#worker, drainMs);
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Why the runs that are open do not go on, for people. */
async function explainOpenRuns({ api }: KernelClient): Promise<string> {
  const { runs } = await api.runs.listRuns({ pageSize: 20 });
  const lines: string[] = [];
  for (const { runId } of runs) {
    const { run } = await api.runs.getRun({ runId });
    if (run !== undefined && run.why !== "") lines.push(`Run "${runId}": ${run.why}`);
  }
  return lines.join("\n");
}

/**
 * Opens an environment: a kernel in memory, empty, whose clock stands still until the test moves it. It needs the package `@pawl/server`.
 *
 * @throws PawlError `PAWL_SERVER_MISSING` without that package.
 */
export async function openTestEnvironment({
  startAt = new Date(),
}: TestEnvironmentOptions = {}): Promise<TestEnvironment> {
  return new TestEnvironment(await Machine.open(startAt.getTime()));
}

import type { PawlClient } from "../client.js";
import { ClientCore } from "../internal/client-core.js";
import { KernelClient } from "../internal/kernel-client.js";
import { ConnectionMonitor } from "../internal/monitor.js";
import { inTime } from "../internal/time.js";
import type { Worker, WorkerOptions } from "../worker-options.js";
import type { Moment } from "./crash-point.js";
import type { OwnTime } from "./virtual-time.js";
import { Wire } from "./wire.js";

/** What a worker process is made with. */
export interface WorkerProcessParts {
  readonly time: OwnTime;
  /** A client over a connection of its own. */
  readonly api: PawlClient;
  readonly options: WorkerOptions;
  readonly reached: (moment: Moment) => boolean;
  readonly cut: (process: WorkerProcess) => void;
  readonly moved: () => void;
}

/** A worker with everything that dies with its process. */
export class WorkerProcess {
  readonly time: OwnTime;
  readonly options: WorkerOptions;
  readonly #wire: Wire;
  readonly #api: PawlClient;
  #client: KernelClient | undefined;
  #worker: Worker | undefined;
  /** What it has told its kernel. */
  told = 0;

  constructor({ time, api, options, reached, cut, moved }: WorkerProcessParts) {
    this.time = time;
    this.options = options;
    this.#api = api;
    this.#wire = new Wire(api, {
      reached: (moment) => {
        this.told++;
        return reached(moment);
      },
      cut: () => cut(this),
      moved,
    });
  }

  /** Attempts that are running. */
  get running(): number {
    return this.time.isDead ? 0 : (this.#worker?.running ?? 0);
  }

  /** Id of its session. */
  get sessionId(): string {
    return this.#worker?.sessionId ?? "";
  }

  /** Starts it; resolves when the kernel has welcomed it. */
  async start(): Promise<void> {
    await inTime(this.time, async () => {
      const core = new ClientCore(this.#wire.api, "", new ConnectionMonitor(() => undefined));
      this.#client = new KernelClient(core);
      this.#worker = await this.#client.worker(this.options);
    });
  }

  /** Ends it in order. */
  async close(drainMs: number): Promise<void> {
    await inTime(this.time, async () => this.#client?.close({ drainMs }));
    this.kill();
  }

  /** Ends it as SIGKILL does: what it has sent is sent, and nothing of it goes on. */
  kill(): void {
    this.time.kill();
    this.#wire.kill();
    this.#api.close();
  }
}

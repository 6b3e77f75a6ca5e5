import { Counter, collectDefaultMetrics, Histogram, Registry } from "prom-client";
import { edgeGauges, kernelGauges } from "./gauges.js";
import type { Counted, EdgeGauges, KernelGauges, Meter } from "./meter.js";
import { queueMetrics } from "./queue-gauges.js";
import { storeGauges } from "./store-gauges.js";

/** Bounds of the histogram of syncs, in seconds: from a fast disk to one that fails. */
const syncBuckets = [
  0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.5, 1, 2, 5,
];

/** Bounds of the histogram of segments, in bytes. */
const segmentBuckets = [256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304];

/** How often the delay of the event loop is sampled, in ms. */
const eventLoopMs = 20;

/** What `GET /metrics` tells: Prometheus' text format. One object per kernel. */
export class Metrics implements Meter {
  readonly #registry: Registry = new Registry();
  readonly #events: Counter;
  readonly #sync: Histogram;
  readonly #segments: Histogram;
  readonly #rejections: Counter<"reason">;
  /** A refusal passes several places on its way out. */
  readonly #counted: WeakSet<Counted> = new WeakSet();
  #kernel: (() => KernelGauges) | undefined;

  /** @param isProcess also tells of the process: CPU, heap, GC, event loop. For the one kernel that has a process for itself. */
  constructor({ isProcess = false }: { readonly isProcess?: boolean } = {}) {
    const registers = [this.#registry];
    this.#sync = new Histogram({
      registers,
      name: "pawl_commit_sync_seconds",
      help: "How long the store took to make a commit durable. Its count is the number of commits.",
      buckets: syncBuckets,
    });
    this.#segments = new Histogram({
      registers,
      name: "pawl_commit_bytes",
      help: "Bytes of the events of a commit.",
      buckets: segmentBuckets,
    });
    this.#events = new Counter({
      registers,
      name: "pawl_events_total",
      help: "Events that became durable.",
    });
    this.#rejections = new Counter({
      registers,
      name: "pawl_rejections_total",
      help: "Commands and calls that were refused, by reason (docs/errors).",
      labelNames: ["reason"],
    });
    if (isProcess) {
      collectDefaultMetrics({
        register: this.#registry,
        eventLoopMonitoringPrecision: eventLoopMs,
      });
    }
  }

  /** Media type of `text()`. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  committed({ seconds, bytes, events }: Parameters<Meter["committed"]>[0]): void {
    this.#sync.observe(seconds);
    this.#segments.observe(bytes);
    this.#events.inc(events);
  }

  rejected(rejection: Counted): void {
    this.#counted.add(rejection);
    this.#rejections.inc({ reason: rejection.reason });
  }

  refused(rejection: Counted): void {
    if (!this.#counted.has(rejection)) {
      this.rejected(rejection);
    }
  }

  /** Adds what is read from a kernel. Call once. */
  watchKernel(read: () => KernelGauges): void {
    this.#kernel = read;
    kernelGauges(this.#registry, read);
  }

  /** Adds what is read from the edge. Call once. */
  watchEdge(read: () => EdgeGauges): void {
    edgeGauges(this.#registry, read);
  }

  /** Adds the sizes of a data folder. Call once. */
  watchFolder(folder: string): void {
    storeGauges(this.#registry, folder);
  }

  /**
   * All metrics as they are now.
   *
   * @param isVisible whether the reader may know of a namespace. Queues of others are left out, also where the rest is told together.
   */
  async text(isVisible: (namespace: string) => boolean = () => true): Promise<string> {
    const whole = await this.#registry.metrics();
    if (this.#kernel === undefined) {
      return whole;
    }
    const queues = [...this.#kernel().queues()].filter(({ namespace }) => isVisible(namespace));
    return `${whole}${await queueMetrics(queues)}`;
  }
}

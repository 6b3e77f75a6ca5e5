import { create } from "@bufbuild/protobuf";
import {
  type ProgressItem,
  type WorkRequest,
  WorkRequestSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import type { Lease } from "./lease.js";
import { ITEMS_MAX, SendQueue } from "./send-queue.js";
import { monotonicMs } from "./time.js";
import { putItem, type WorkItem } from "./work-item.js";

/** What waits to be sent on a worker's stream. */
export class WorkOutbox {
  readonly #items = new SendQueue<WorkItem>();
  readonly #renewals = new Set<Lease>();
  readonly #progress = new Map<Lease, ProgressItem>();
  #acks: number[] = [];
  #credits = 0;
  #pong = 0;
  #ping = 0;
  #drain = false;

  /** Begins anew for a new stream. */
  reset(): void {
    this.#items.clear();
    this.#renewals.clear();
    this.#acks = [];
    this.#credits = 0;
    this.#pong = 0;
    this.#ping = 0;
  }

  item(item: WorkItem): void {
    this.#items.push(item);
  }

  ack(handle: number): void {
    this.#acks.push(handle);
  }

  renew(lease: Lease): void {
    this.#renewals.add(lease);
  }

  /** Only the last progress of a lease counts. */
  progress(lease: Lease, item: ProgressItem): void {
    this.#progress.set(lease, item);
  }

  credits(count: number): void {
    this.#credits += count;
  }

  pong(number: number): void {
    this.#pong = number;
  }

  ping(number: number): void {
    this.#ping = number;
  }

  drain(): void {
    this.#drain = true;
  }

  /** Makes the next message; undefined when nothing waits. */
  take(): WorkRequest | undefined {
    const isEmpty =
      this.#items.isEmpty &&
      this.#acks.length === 0 &&
      this.#renewals.size === 0 &&
      this.#progress.size === 0 &&
      this.#credits === 0 &&
      this.#pong === 0 &&
      this.#ping === 0 &&
      !this.#drain;
    if (isEmpty) {
      return undefined;
    }
    const request = create(WorkRequestSchema, {
      credits: this.#credits,
      acks: this.#acks.splice(0, ITEMS_MAX),
      pong: this.#pong,
      ping: this.#ping,
      drain: this.#drain,
    });
    this.#credits = 0;
    this.#pong = 0;
    this.#ping = 0;
    this.#drain = false;
    const nowMs = monotonicMs();
    this.#takeRenewals(request, nowMs);
    for (const item of this.#items.take()) {
      item.sentAtMs = nowMs;
      putItem(request, item.body);
    }
    return request;
  }

  #takeRenewals(request: WorkRequest, nowMs: number): void {
    for (const lease of this.#renewals) {
      if (request.renewals.length === ITEMS_MAX) break;
      this.#renewals.delete(lease);
      lease.renewed(nowMs);
      request.renewals.push(lease.handle);
    }
    for (const [lease, item] of this.#progress) {
      if (request.progress.length === ITEMS_MAX) break;
      this.#progress.delete(lease);
      lease.renewed(nowMs);
      request.progress.push(item);
    }
  }
}

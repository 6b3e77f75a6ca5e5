import { create } from "@bufbuild/protobuf";
import {
  type EmitItem,
  type ProgressItem,
  type WorkRequest,
  WorkRequestSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import { payloadBytes } from "./codec.js";
import { EmitBuffer } from "./emit-buffer.js";
import type { Lease } from "./lease.js";
import { MessageOrder } from "./message-order.js";
import { ITEMS_MAX, MESSAGE_BYTES, SendQueue } from "./send-queue.js";
import { monotonicMs } from "./time.js";
import { putItem, type WorkItem } from "./work-item.js";

/** Most bytes of progress in one message: beside full items it must still be within the kernel's bound. */
const PROGRESS_BYTES = 400_000;

/** What waits to be sent on a worker's stream. */
export class WorkOutbox {
  readonly #items = new SendQueue<WorkItem>();
  readonly #renewals = new Set<Lease>();
  readonly #progress = new Map<Lease, ProgressItem>();
  readonly #emits = new EmitBuffer();
  #acks: number[] = [];
  #credits = 0;
  #pong = 0;
  /** Items that were queued before the ping was read: they leave before its pong. */
  #beforePong = 0;
  #ping = 0;
  #drain = false;
  /** True when the last message went ahead of an item that fills one. */
  #wentAhead = false;

  /** Begins anew for a new stream. Progress and live output stay: they count whichever stream takes them. */
  reset(): void {
    this.#items.clear();
    this.#renewals.clear();
    this.#acks = [];
    this.#credits = 0;
    this.#pong = 0;
    this.#beforePong = 0;
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

  /** Live output of a lease. */
  emit(lease: Lease, item: EmitItem): void {
    this.#emits.add(lease, item);
  }

  credits(count: number): void {
    this.#credits += count;
  }

  /**
   * Answers a ping. A ping may come with a refusal, and its pong tells the kernel that whatever leaves with it was sent
   * by code that knew: so what was queued before must not leave with it.
   */
  pong(number: number): void {
    this.#pong = number;
    this.#beforePong = this.#items.length;
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
      this.#emits.isEmpty &&
      this.#credits === 0 &&
      this.#pong === 0 &&
      this.#ping === 0 &&
      !this.#drain;
    if (isEmpty) {
      return undefined;
    }
    const nowMs = monotonicMs();
    const request = create(WorkRequestSchema, {
      credits: this.#credits,
      acks: this.#acks.splice(0, ITEMS_MAX),
      ping: this.#ping,
      drain: this.#drain,
    });
    const isFilled = this.#items.nextBytes > MESSAGE_BYTES;
    const hasOther = this.#progress.size > 0 || !this.#emits.isEmpty;
    this.#wentAhead = isFilled && hasOther && !this.#wentAhead;
    // No message holds progress and live output beside it: what there is leaves before it, and what comes then after it.
    const isAlone = isFilled && !this.#wentAhead;
    const isRoomy = isAlone || (this.#emits.take(request, nowMs) && !this.#wentAhead);
    const itemsMax = this.#beforePong > 0 ? this.#beforePong : ITEMS_MAX;
    const order = new MessageOrder();
    const items = this.#items.take(isRoomy ? itemsMax : 0, (item) => order.takes(item));
    const isPongDue = this.#beforePong === 0;
    this.#beforePong -= isPongDue ? 0 : items.length;
    request.pong = isPongDue ? this.#pong : 0;
    this.#credits = 0;
    this.#pong = isPongDue ? 0 : this.#pong;
    this.#ping = 0;
    this.#drain = false;
    this.#takeRenewals(request, nowMs);
    if (!isAlone) this.#takeProgress(request, nowMs);
    for (const item of items) {
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
  }

  #takeProgress(request: WorkRequest, nowMs: number): void {
    let bytes = 0;
    for (const [lease, item] of this.#progress) {
      if (lease.isOver) {
        this.#progress.delete(lease);
        continue;
      }
      bytes += payloadBytes(item.progress) + 32;
      if (request.progress.length === ITEMS_MAX || bytes > PROGRESS_BYTES) break;
      this.#progress.delete(lease);
      lease.renewed(nowMs);
      request.progress.push(item);
    }
  }
}

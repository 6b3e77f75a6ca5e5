import type { EmitItem, WorkRequest } from "@pawl/proto/v1/worker_service_pb.js";
import { payloadBytes } from "./codec.js";
import type { Lease } from "./lease.js";

/** Live output of one lease that may wait to be sent: as much as the kernel would keep of it. */
const WAITING_BYTES_MAX = 1_048_576;
const WAITING_CHUNKS_MAX = 10_000;

/** Most bytes of live output in a message that has items too: with these and progress it must be within the kernel's bound. */
const BESIDE_BYTES = 250_000;

/** Most bytes of live output in a message that has nothing else of size. */
const ALONE_BYTES = 3_000_000;

/** Messages in a row that live output may have for itself while items wait. Then they go on: what is recorded is worth more than what is shown. */
const ALONE_MAX = 4;

/** What a chunk takes in a message besides its content, roughly. */
const CHUNK_BYTES = 60;

interface Waiting {
  items: EmitItem[];
  bytes: number;
}

/** Live output that waits to be sent. It is bounded by lease: when it cannot leave in time, the oldest of it goes, and its numbers tell readers. */
export class EmitBuffer {
  readonly #waiting = new Map<Lease, Waiting>();
  #alone = 0;

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(lease: Lease, item: EmitItem): void {
    let waiting = this.#waiting.get(lease);
    if (waiting === undefined) {
      waiting = { items: [], bytes: 0 };
      this.#waiting.set(lease, waiting);
    }
    waiting.items.push(item);
    waiting.bytes += bytesOf(item);
    if (waiting.bytes > WAITING_BYTES_MAX || waiting.items.length > WAITING_CHUNKS_MAX) {
      dropOldest(waiting);
    }
  }

  /**
   * Puts what waits into a message. It leaves ahead of items, among which may be the report that ends its lease.
   *
   * @returns False when items must wait for the next message.
   */
  take(request: WorkRequest, nowMs: number): boolean {
    if (this.isEmpty) {
      this.#alone = 0;
      return true;
    }
    let bytes = 0;
    for (const { bytes: more } of this.#waiting.values()) bytes += more;
    const isAlone = bytes > BESIDE_BYTES && this.#alone < ALONE_MAX;
    this.#alone = isAlone ? this.#alone + 1 : 0;
    this.#fill(request, isAlone ? ALONE_BYTES : BESIDE_BYTES, nowMs);
    return !isAlone;
  }

  #fill(request: WorkRequest, bytesMax: number, nowMs: number): void {
    let room = bytesMax;
    for (const [lease, waiting] of this.#waiting) {
      if (lease.isOver) {
        this.#waiting.delete(lease);
        continue;
      }
      let count = 0;
      for (const item of waiting.items) {
        const bytes = bytesOf(item);
        if (bytes > room) break;
        room -= bytes;
        waiting.bytes -= bytes;
        request.emits.push(item);
        count++;
      }
      lease.renewed(nowMs);
      if (count < waiting.items.length) {
        waiting.items = waiting.items.slice(count);
        return;
      }
      this.#waiting.delete(lease);
    }
  }
}

/** Makes room for a good while, so that not every chunk moves all others. */
function dropOldest(waiting: Waiting): void {
  let count = 0;
  for (const item of waiting.items) {
    const isRoomy =
      waiting.bytes <= WAITING_BYTES_MAX * 0.9 &&
      waiting.items.length - count <= WAITING_CHUNKS_MAX * 0.9;
    if (isRoomy) break;
    waiting.bytes -= bytesOf(item);
    count++;
  }
  waiting.items = waiting.items.slice(count);
}

function bytesOf({ payload, channel }: EmitItem): number {
  return payloadBytes(payload) + 3 * channel.length + CHUNK_BYTES;
}

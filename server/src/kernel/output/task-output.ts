import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { limits } from "../../core/limits.js";
import type { EmittedChunk } from "./output-entry.js";

/** A chunk that is kept for readers. */
export interface KeptChunk extends EmittedChunk {
  /** Its place among everything that happened to live output in this process. */
  readonly place: number;
}

/** What a chunk takes besides its content, in bytes, roughly. */
const chunkOverheadBytes = 200;

/** How many chunks at the front may be gone before the list is made anew. */
const goneMax = 1024;

/** The live output of one task: what is kept of it, and how far it has come. */
export class TaskOutput {
  readonly runNumber: number;
  readonly name: string;
  /** The lease that emits; 0: none has been given yet. */
  leaseVersion = 0;
  attempt = 0;
  /** As far as is durable. */
  status: TaskStatus = TaskStatus.UNSPECIFIED;
  /** Place at which this lease began, and at which the task ended; 0: not yet. */
  beganAt = 0;
  endedAt = 0;
  /** Place of the last thing that happened. */
  changedAt = 0;
  /** Since when no lease is live, by the kernel's clock; undefined while one is. */
  idleSinceMs: number | undefined = undefined;
  /** What is kept takes so much. */
  bytes = 0;
  #chunks: KeptChunk[] = [];
  #gone = 0;
  /** Last number of each channel, also of those that are not kept any more. */
  readonly lastNumbers: Map<string, number> = new Map();

  constructor(runNumber: number, name: string) {
    this.runNumber = runNumber;
    this.name = name;
  }

  /** Chunks that are kept. */
  get size(): number {
    return this.#chunks.length - this.#gone;
  }

  /** True when the task has emitted anything under this lease that the kernel knows of. */
  get hasEmitted(): boolean {
    return this.lastNumbers.size > 0;
  }

  /** The task begins again: what was emitted before counts no more. */
  begin({ leaseVersion, attempt }: { leaseVersion: number; attempt: number }, place: number): void {
    this.dropAll();
    this.lastNumbers.clear();
    this.leaseVersion = leaseVersion;
    this.attempt = attempt;
    this.beganAt = place;
    this.endedAt = 0;
    this.changedAt = place;
  }

  /** True for a chunk that can be taken: a new number, in a channel for which there is room. */
  wants({ channel, number }: EmittedChunk): boolean {
    const last = this.lastNumbers.get(channel);
    return last === undefined
      ? number > 0 && this.lastNumbers.size < limits.outputChannelsMax
      : number > last;
  }

  /** Adds a chunk that is wanted; what has no room any more goes. */
  add(chunk: EmittedChunk, place: number): void {
    const { channel, number, payload } = chunk;
    this.lastNumbers.set(channel, number);
    this.#chunks.push({ channel, number, payload, place });
    this.bytes += bytesOf(chunk);
    this.changedAt = place;
    while (this.bytes > limits.outputTaskBytesMax || this.size > limits.outputTaskChunksMax) {
      this.dropOldest();
    }
  }

  /** Drops the oldest chunk. */
  dropOldest(): void {
    const oldest = this.#chunks[this.#gone];
    if (oldest === undefined) {
      return;
    }
    this.bytes -= bytesOf(oldest);
    this.#gone++;
    if (this.#gone > goneMax && this.#gone * 2 > this.#chunks.length) {
      this.#chunks = this.#chunks.slice(this.#gone);
      this.#gone = 0;
    }
  }

  /** Drops all chunks. */
  dropAll(): void {
    this.#chunks = [];
    this.#gone = 0;
    this.bytes = 0;
  }

  /** Kept chunks after a place, oldest first, at most so many. */
  after(place: number, max: number): readonly KeptChunk[] {
    let low = this.#gone;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#chunks[middle]?.place ?? 0) > place) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return this.#chunks.slice(low, low + max);
  }
}

function bytesOf({ payload, channel }: EmittedChunk): number {
  return payload.length + channel.length + chunkOverheadBytes;
}

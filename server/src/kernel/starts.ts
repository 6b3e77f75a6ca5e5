import type { KernelStartedShape } from "@pawl/proto/log/v1/event_wire.js";
import { decodeStartsRow, encodeStartsRow } from "@pawl/proto/log/v1/row_wire.js";
import type { EventSlice } from "../log/segment.js";
import type { RowPut, Store } from "../log/store.js";
import { decodeEvents } from "./decode-events.js";
import { readMetaRow, writeMetaRow } from "./storage/meta-rows.js";

const rowName = "starts";

/** Most starts that are known; older ones are in the history of run 0 alone. */
const startsMax = 10;

/** Most runs that a start lists. */
export const listedRunsMax = 10_000;

/**
 * The last starts of kernels on a store, the oldest first. Their events belong to the store's own run; the checkpointer keeps the last of them in a meta
 * row beside that run's row, so that nobody need read its history.
 */
export class Starts {
  #starts: KernelStartedShape[] = [];
  #changes = 0;
  #pending: KernelStartedShape | undefined;

  /** Those of the meta row, and those that the tail of the store's own run tells of. @throws StoreDamaged */
  static read(store: Pick<Store, "get">, partition: number, tail: readonly EventSlice[]): Starts {
    const starts = new Starts();
    const payload = readMetaRow(store, partition, rowName);
    for (const { started } of payload === undefined ? [] : decodeStartsRow(payload).starts) {
      if (started !== undefined) starts.add(started);
    }
    for (const slice of tail) {
      for (const { body } of decodeEvents(slice)) {
        if (body.case === "kernelStarted") starts.add(body.value);
      }
    }
    return starts;
  }

  /** How often one was added since the kernel opened. */
  get changes(): number {
    return this.#changes;
  }

  /** Number of the next one. */
  get next(): number {
    return (this.#starts.at(-1)?.number ?? 0) + 1;
  }

  /** The oldest first. */
  list(): readonly KernelStartedShape[] {
    return this.#pending === undefined
      ? this.#starts
      : [...this.#starts, this.#pending].slice(-startsMax);
  }

  /** One of them; 0: the last. */
  get(number: number): KernelStartedShape | undefined {
    const starts = this.list();
    return number === 0 ? starts.at(-1) : starts.find((start) => start.number === number);
  }

  /** Lists one whose event is not made yet. The row does not name it: after a kill nothing else would tell of it. */
  expect(start: KernelStartedShape): void {
    this.#pending = start;
  }

  /** Adds one; one that is known already changes nothing. */
  add(start: KernelStartedShape): void {
    this.#pending = undefined;
    if (start.number >= this.next) {
      this.#starts = [...this.#starts, start].slice(-startsMax);
      this.#changes++;
    }
  }

  /** The row that keeps them; undefined while there are none. */
  row(partition: number): RowPut | undefined {
    return this.#starts.length === 0
      ? undefined
      : writeMetaRow(
          partition,
          rowName,
          encodeStartsRow({ starts: this.#starts.map((started) => ({ started })) }),
        );
  }
}

/** Ascending numbers as the differences between them, 7 bits a byte. */
export function packNumbers(numbers: Iterable<number>): Uint8Array {
  const bytes: number[] = [];
  let last = 0;
  for (const number of numbers) {
    let rest = number - last;
    for (; rest >= 128; rest = Math.floor(rest / 128)) {
      bytes.push((rest % 128) + 128);
    }
    bytes.push(rest);
    last = number;
  }
  return Uint8Array.from(bytes);
}

/** The numbers that `packNumbers` packed. */
export function unpackNumbers(bytes: Uint8Array): number[] {
  const numbers: number[] = [];
  let last = 0;
  let difference = 0;
  let weight = 1;
  for (const byte of bytes) {
    difference += (byte % 128) * weight;
    weight *= 128;
    if (byte < 128) {
      last += difference;
      numbers.push(last);
      difference = 0;
      weight = 1;
    }
  }
  return numbers;
}

import { readU64, writeU64 } from "../../log/bytes.js";
import type { Fence, Store } from "../../log/store.js";
import { readMetaRow, writeMetaRow } from "./meta-rows.js";

/** What setting aside is kept in. */
export interface SetAsideParts {
  readonly store: Store;
  readonly fence: Fence;
  readonly partition: number;
}

/** A run whose rows are damaged while the log held more of it. */
interface Entry {
  readonly runNumber: number;
  /** First sequence that its rows lack. */
  readonly firstSequence: number;
}

const setAsideRow = "set aside";
const entryBytes = 16;

/**
 * Runs with events beyond the horizon whose rows are damaged: they can be saved no more, and must not hold the horizon for all others. They
 * are named in a row, refused from then on, also by later processes, and the log is kept from their first unsaved event on, so that nothing
 * of them is lost to whoever restores them.
 */
export class SetAside {
  readonly #parts: SetAsideParts;
  readonly #entries: Entry[] = [];

  /** @throws StoreDamaged */
  constructor(parts: SetAsideParts) {
    this.#parts = parts;
    this.#entries.push(...readEntries(parts.store, parts.partition));
  }

  /** Their numbers. */
  get runs(): readonly number[] {
    return this.#entries.map(({ runNumber }) => runNumber);
  }

  /** The log is kept from this sequence on; undefined: none of them needs it. */
  get firstSequence(): number | undefined {
    return this.#entries.length === 0
      ? undefined
      : Math.min(...this.#entries.map(({ firstSequence }) => firstSequence));
  }

  /** Names one more. Durable when it resolves. @throws StoreFailed */
  async add(runNumber: number, firstSequence: number): Promise<void> {
    const { store, fence, partition } = this.#parts;
    if (this.runs.includes(runNumber)) {
      return;
    }
    this.#entries.push({ runNumber, firstSequence });
    const payload = new Uint8Array(this.#entries.length * entryBytes);
    for (const [index, entry] of this.#entries.entries()) {
      writeU64(payload, index * entryBytes, entry.runNumber);
      writeU64(payload, index * entryBytes + 8, entry.firstSequence);
    }
    const puts = [writeMetaRow(partition, setAsideRow, payload)];
    await store.putRows({ puts, deletes: [], ranges: [] }, fence);
  }
}

/** Numbers of the runs that are set aside in a store. @throws StoreDamaged */
export function readSetAside(store: Pick<Store, "get">, partition: number): number[] {
  return readEntries(store, partition).map(({ runNumber }) => runNumber);
}

function readEntries(store: Pick<Store, "get">, partition: number): Entry[] {
  const payload = readMetaRow(store, partition, setAsideRow) ?? new Uint8Array(0);
  const entries: Entry[] = [];
  for (let at = 0; at + entryBytes <= payload.length; at += entryBytes) {
    entries.push({ runNumber: readU64(payload, at), firstSequence: readU64(payload, at + 8) });
  }
  return entries;
}

import { decodeNamespacesRow, encodeNamespacesRow } from "@pawl/proto/log/v1/row_wire.js";
import type { EventSlice } from "../log/segment.js";
import type { RowPut, Store } from "../log/store.js";
import { decodeEvents } from "./decode-events.js";
import { readMetaRow, writeMetaRow } from "./storage/meta-rows.js";

/** A namespace of the store. */
export interface NamespaceEntry {
  readonly namespace: string;
  /** Who created it; empty for `default`, which came with the store. */
  readonly principal: string;
  /** Ms since the Unix epoch. */
  readonly createdAtMs: number;
}

/** The namespace that every store has. */
export const defaultNamespace = "default";

const rowName = "namespaces";

/**
 * The namespaces of a store, `default` first, then in the order of their creation. Their events belong to the store's own run; the
 * checkpointer keeps the list in a meta row beside that run's row, so that a start need not read its history.
 */
export class Namespaces {
  readonly #byName = new Map<string, NamespaceEntry>();

  /** @param createdAtMs when the store was created, and `default` with it. */
  constructor(createdAtMs: number) {
    this.#byName.set(defaultNamespace, { namespace: defaultNamespace, principal: "", createdAtMs });
  }

  /** The namespaces of a store: those of its meta row, and those that the tail of its own run created. @throws StoreDamaged */
  static read(
    store: Pick<Store, "get">,
    { partition, createdAtMs }: { readonly partition: number; readonly createdAtMs: number },
    tail: readonly EventSlice[],
  ): Namespaces {
    const namespaces = new Namespaces(createdAtMs);
    const payload = readMetaRow(store, partition, rowName);
    for (const row of payload === undefined ? [] : decodeNamespacesRow(payload).namespaces) {
      namespaces.add(row);
    }
    for (const slice of tail) {
      for (const { body, atMs } of decodeEvents(slice)) {
        if (body.case === "namespaceCreated") {
          namespaces.add({ ...body.value, createdAtMs: atMs });
        }
      }
    }
    return namespaces;
  }

  /** How many there are. */
  get size(): number {
    return this.#byName.size;
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  get(name: string): NamespaceEntry | undefined {
    return this.#byName.get(name);
  }

  /** All, `default` first. Never fewer, and in the same order, than before. */
  list(): NamespaceEntry[] {
    return [...this.#byName.values()];
  }

  /** Adds one; one that is there stays as it is. */
  add(entry: NamespaceEntry): void {
    if (!this.#byName.has(entry.namespace)) {
      this.#byName.set(entry.namespace, entry);
    }
  }

  /** The row that keeps them; undefined while there is only `default`. */
  put(partition: number): RowPut | undefined {
    if (this.#byName.size === 1) {
      return undefined;
    }
    const namespaces = this.list().filter(({ namespace }) => namespace !== defaultNamespace);
    return writeMetaRow(partition, rowName, encodeNamespacesRow({ namespaces }));
  }
}

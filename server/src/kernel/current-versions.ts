import { decodeCurrentVersionsRow, encodeCurrentVersionsRow } from "@pawl/proto/log/v1/row_wire.js";
import type { EventSlice } from "../log/segment.js";
import type { RowPut, Store } from "../log/store.js";
import { decodeEvents } from "./decode-events.js";
import { readMetaRow, writeMetaRow } from "./storage/meta-rows.js";

/** The current version of a workflow, or that there is none any more. */
export interface CurrentVersionEntry {
  readonly namespace: string;
  readonly workflow: string;
  /** The version that is current; 0: none is. */
  readonly codeVersion: number;
  /** How often it was changed. */
  readonly version: number;
  /** Who changed it last. */
  readonly principal: string;
  /** When, ms since the Unix epoch. */
  readonly changedAtMs: number;
}

const rowName = "current versions";

/**
 * The current versions of a store's workflows, in the order in which they were first set. Their events belong to the store's own run; the
 * checkpointer keeps them in a meta row beside that run's row, so that a start need not read its history. One that was removed stays, so that its
 * version never begins anew.
 */
export class CurrentVersions {
  readonly #byName = new Map<string, CurrentVersionEntry>();
  #changes = 0;

  /** Those of the meta row, and what the tail of the store's own run changed. @throws StoreDamaged */
  static read(
    store: Pick<Store, "get">,
    partition: number,
    tail: readonly EventSlice[],
  ): CurrentVersions {
    const versions = new CurrentVersions();
    const payload = readMetaRow(store, partition, rowName);
    for (const row of payload === undefined ? [] : decodeCurrentVersionsRow(payload).versions) {
      versions.put(row);
    }
    for (const slice of tail) {
      for (const { body, atMs } of decodeEvents(slice)) {
        if (body.case === "currentVersionChanged") {
          versions.put({ ...body.value, changedAtMs: atMs });
        }
      }
    }
    return versions;
  }

  /** How often any of them was changed since the kernel opened. */
  get changes(): number {
    return this.#changes;
  }

  /** How many there are, removed ones included. */
  get size(): number {
    return this.#byName.size;
  }

  /** The version that is current; 0: none is. */
  readonly current = (namespace: string, workflow: string): number =>
    this.get(namespace, workflow)?.codeVersion ?? 0;

  /** What is known of one; undefined when none was ever set. */
  get(namespace: string, workflow: string): CurrentVersionEntry | undefined {
    return this.#byName.get(nameOf(namespace, workflow));
  }

  /** All of the store, removed ones included. Never fewer, and in the same order, than before. */
  list(): CurrentVersionEntry[] {
    return [...this.#byName.values()];
  }

  /** Takes a change; an older one than is known changes nothing. */
  put(entry: CurrentVersionEntry): void {
    const name = nameOf(entry.namespace, entry.workflow);
    if (entry.version > (this.#byName.get(name)?.version ?? 0)) {
      this.#byName.set(name, entry);
      this.#changes++;
    }
  }

  /** The row that keeps them; undefined while none was ever set. */
  row(partition: number): RowPut | undefined {
    return this.size === 0
      ? undefined
      : writeMetaRow(
          partition,
          rowName,
          encodeCurrentVersionsRow({ versions: this.list().map((entry) => ({ ...entry })) }),
        );
  }
}

/** Ids hold no NUL, so this is injective. */
function nameOf(namespace: string, workflow: string): string {
  return `${namespace}\0${workflow}`;
}

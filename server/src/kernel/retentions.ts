import type { KeepTimesShape, LegalHoldShape } from "@pawl/proto/log/v1/event_wire.js";
import { decodeRetentionsRow, encodeRetentionsRow } from "@pawl/proto/log/v1/row_wire.js";
import { keepForEver, type Retention } from "../core/retention.js";
import type { EventSlice } from "../log/segment.js";
import type { RowPut, Store } from "../log/store.js";
import { decodeEvents } from "./decode-events.js";
import { readMetaRow, writeMetaRow } from "./storage/meta-rows.js";

/** How long a namespace keeps what, and who said so. */
export interface RetentionEntry extends Retention {
  readonly namespace: string;
  /** How often it was changed; 0: never. */
  readonly version: number;
  /** Who changed it last. */
  readonly principal: string;
  /** When, ms since the Unix epoch; 0: never. */
  readonly changedAtMs: number;
}

const rowName = "retention";

/**
 * How long the namespaces of a store keep what, in the order in which it was first set. Its events belong to the store's own run; the
 * checkpointer keeps it in a meta row beside that run's row, so that a start need not read its history.
 */
export class Retentions {
  readonly #byNamespace = new Map<string, RetentionEntry>();
  #changes = 0;

  /** What the meta row says, and what the tail of the store's own run changed. @throws StoreDamaged */
  static read(
    store: Pick<Store, "get">,
    partition: number,
    tail: readonly EventSlice[],
  ): Retentions {
    const retentions = new Retentions();
    const payload = readMetaRow(store, partition, rowName);
    for (const row of payload === undefined ? [] : decodeRetentionsRow(payload).retentions) {
      if (row.retention !== undefined) {
        retentions.put(entryOf(row.retention, row.changedAtMs));
      }
    }
    for (const slice of tail) {
      for (const { body, atMs } of decodeEvents(slice)) {
        if (body.case === "retentionChanged") {
          retentions.put(entryOf(body.value, atMs));
        }
      }
    }
    return retentions;
  }

  /** How often any of them was changed since the kernel opened. */
  get changes(): number {
    return this.#changes;
  }

  /** How long a namespace keeps what. */
  readonly of = (namespace: string): Retention => this.#byNamespace.get(namespace) ?? keepForEver;

  /** The same, with who said so: version 0 when nobody ever did. */
  get(namespace: string): RetentionEntry {
    return (
      this.#byNamespace.get(namespace) ?? {
        ...keepForEver,
        ...{ namespace, version: 0, principal: "", changedAtMs: 0 },
      }
    );
  }

  /** Those that were ever set. */
  list(): RetentionEntry[] {
    return [...this.#byNamespace.values()];
  }

  /** Takes a change; an older one than is known changes nothing. */
  put(entry: RetentionEntry): void {
    if (entry.version > (this.#byNamespace.get(entry.namespace)?.version ?? 0)) {
      this.#byNamespace.set(entry.namespace, entry);
      this.#changes++;
    }
  }

  /** The row that keeps them; undefined while none was ever set. */
  row(partition: number): RowPut | undefined {
    if (this.#byNamespace.size === 0) {
      return undefined;
    }
    const retentions = this.list().map(({ changedAtMs, ...retention }) => ({
      retention: { ...retention },
      changedAtMs,
    }));
    return writeMetaRow(partition, rowName, encodeRetentionsRow({ retentions }));
  }
}

/** What an event or a row says. */
function entryOf(
  said: {
    readonly namespace: string;
    readonly keep?: KeepTimesShape | undefined;
    readonly hold?: LegalHoldShape | undefined;
    readonly version: number;
    readonly principal: string;
  },
  changedAtMs: number,
): RetentionEntry {
  const { namespace, keep = keepForEver.keep, hold, version, principal } = said;
  return { namespace, keep, hold, version, principal, changedAtMs };
}

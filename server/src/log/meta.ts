/**
 * The rows that the store keeps about itself, under meta keys in the row envelope:
 *
 * | name | payload |
 * |---|---|
 * | `store` | format u16, epoch u64, created at u64 (ms), store id 16 bytes |
 * | `horizon` | sequence u64, segment hash 32 bytes |
 * | `anchor` | sequence u64, segment hash 32 bytes |
 * | `counters` | count u16, then for each counter in the order of names: name (u16 length, UTF-8), value u64 |
 *
 * The *horizon* is the point up to which all runs are stored in rows. The *anchor* is where the log begins: the last
 * segment that was trimmed, or the beginning of the chain, whose hash is made of the store's id so that no segment
 * of another store fits.
 */

import { compareBytes, copyBytes, readU16, readU64, toHex, writeU16, writeU64 } from "./bytes.js";
import { HASH_BYTES } from "./container.js";
import { metaKey } from "./key.js";
import { text } from "./key-field.js";
import { readRow, writeRow } from "./row.js";
import type { ChainPoint } from "./segment.js";
import { sha256 } from "./sha256.js";
import type { RowPut, Store } from "./store.js";
import { KeyInvalid, StoreDamaged } from "./store-errors.js";

const META_SCHEMA = 0;
const ID_BYTES = 16;
const IDENTITY_BYTES = 18 + ID_BYTES;
const POINT_BYTES = 8 + HASH_BYTES;

/** Which store this is, and in which life. */
export interface StoreIdentity {
  /** Format of everything in the store. */
  readonly format: number;
  /** A UUID, made once with the store. */
  readonly storeId: string;
  /** Counts the lives of the store from 1; a restore begins a new one. */
  readonly epoch: number;
  readonly createdAtMs: number;
}

/** Numbers that go on rising, by name: the next run number, for one. */
export type Counters = Readonly<Record<string, number>>;

/** All meta rows. */
export interface StoreMeta {
  readonly identity: StoreIdentity;
  readonly horizon: ChainPoint;
  readonly anchor: ChainPoint;
  readonly counters: Counters;
}

/** The point before the first segment of a store: sequence 0, and a hash of the store's id. */
export function chainOrigin(storeId: string): ChainPoint {
  return { sequence: 0, hash: sha256(Buffer.from(`pawl.chain.v1\0${storeId}`, "utf8")) };
}

/** The rows of a store that holds nothing yet. */
export function genesisPuts(partition: number, identity: StoreIdentity): readonly RowPut[] {
  const origin = chainOrigin(identity.storeId);
  return [
    identityPut(partition, identity),
    horizonPut(partition, origin),
    anchorPut(partition, origin),
    countersPut(partition, {}),
  ];
}

/** The row that says which store this is. */
export function identityPut(partition: number, identity: StoreIdentity): RowPut {
  const payload = new Uint8Array(IDENTITY_BYTES);
  writeU16(payload, 0, identity.format);
  writeU64(payload, 2, identity.epoch);
  writeU64(payload, 10, identity.createdAtMs);
  payload.set(idBytes(identity.storeId), 18);
  return metaPut(partition, "store", payload);
}

/** The row that moves the horizon; goes into the batch of the rows it covers. */
export function horizonPut(partition: number, horizon: ChainPoint): RowPut {
  return metaPut(partition, "horizon", pointBytes(horizon));
}

/** The row that moves the anchor; goes into the batch that removes the segments up to it. */
export function anchorPut(partition: number, anchor: ChainPoint): RowPut {
  return metaPut(partition, "anchor", pointBytes(anchor));
}

/** The row of all counters. Values are safe integers ≥ 0. */
export function countersPut(partition: number, counters: Counters): RowPut {
  const names = Object.keys(counters).sort((a, b) => compareBytes(Buffer.from(a), Buffer.from(b)));
  const size = names.reduce((sum, name) => sum + text.measure(name, "counter name") + 8, 2);
  const payload = new Uint8Array(size);
  writeU16(payload, 0, names.length);
  let at = 2;
  for (const name of names) {
    const value = counters[name] ?? 0;
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new KeyInvalid(
        `Expected counter ${name} to be a safe integer ≥ 0, but it is ${value}.`,
      );
    }
    at = text.write(payload, at, name);
    writeU64(payload, at, value);
    at += 8;
  }
  return metaPut(partition, "counters", payload);
}

/** Reads all meta rows. Errors: `StoreDamaged` when one is missing or not as written. */
export function readMeta(store: Pick<Store, "get">, partition: number): StoreMeta {
  return {
    identity: readIdentity(store, partition),
    horizon: readPoint(store, partition, "horizon"),
    anchor: readPoint(store, partition, "anchor"),
    counters: readCounters(store, partition),
  };
}

/** True if the store has an identity row at all: a new database has none. */
export function hasIdentity(store: Pick<Store, "get">, partition: number): boolean {
  return store.get(metaKey.encode({ partition, name: "store" })) !== undefined;
}

/** Bytes of a UUID. Errors: `KeyInvalid` for any other text. */
function idBytes(storeId: string): Uint8Array {
  const hex = storeId.replaceAll("-", "");
  if (/^[0-9a-f]{32}$/.test(hex) && idText(Buffer.from(hex, "hex")) === storeId) {
    return Buffer.from(hex, "hex");
  }
  throw new KeyInvalid(`Expected a store id that is a lower-case UUID, but it is "${storeId}".`);
}

function idText(bytes: Uint8Array): string {
  return toHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function pointBytes(point: ChainPoint): Uint8Array {
  const payload = new Uint8Array(POINT_BYTES);
  writeU64(payload, 0, point.sequence);
  payload.set(point.hash, 8);
  return payload;
}

function metaPut(partition: number, name: string, payload: Uint8Array): RowPut {
  const key = metaKey.encode({ partition, name });
  const row = { schemaVersion: META_SCHEMA, asOfEvent: 0, asOfSequence: 0, payload };
  return { key, value: writeRow(key, row) };
}

function readPayload(store: Pick<Store, "get">, partition: number, name: string): Uint8Array {
  const key = metaKey.encode({ partition, name });
  const value = store.get(key);
  if (value === undefined) {
    throw new StoreDamaged(`Expected the meta row "${name}", but it is missing`, {
      key: toHex(key),
    });
  }
  return readRow(key, value).payload;
}

function readIdentity(store: Pick<Store, "get">, partition: number): StoreIdentity {
  const payload = readPayload(store, partition, "store");
  requireLength(payload, IDENTITY_BYTES, "store");
  return {
    format: readU16(payload, 0),
    epoch: readU64(payload, 2),
    createdAtMs: readU64(payload, 10),
    storeId: idText(payload.subarray(18)),
  };
}

function readPoint(
  store: Pick<Store, "get">,
  partition: number,
  name: "horizon" | "anchor",
): ChainPoint {
  const payload = readPayload(store, partition, name);
  requireLength(payload, POINT_BYTES, name);
  return { sequence: readU64(payload, 0), hash: copyBytes(payload, 8, POINT_BYTES) };
}

function readCounters(store: Pick<Store, "get">, partition: number): Counters {
  const payload = readPayload(store, partition, "counters");
  // Without a prototype: a counter may have any name.
  const counters: Record<string, number> = Object.create(null);
  let at = 2;
  for (let left = readU16(payload, 0); left > 0; left -= 1) {
    const name = text.read(payload, at);
    if (name === undefined || name.end + 8 > payload.byteLength) throw otherLength("counters");
    counters[name.value] = readU64(payload, name.end);
    at = name.end + 8;
  }
  requireLength(payload, at, "counters");
  return counters;
}

function requireLength(payload: Uint8Array, byteLength: number, name: string): void {
  if (payload.byteLength !== byteLength) throw otherLength(name);
}

function otherLength(name: string): StoreDamaged {
  return new StoreDamaged(
    `Expected the meta row "${name}" of this format, but its length is another`,
  );
}

/** Encodes, decodes and ranges the keys of one kind, from the list of their fields. */

import { copyBytes, toHex, writeU16 } from "./bytes.js";
import { type KeyField, u16 } from "./key-field.js";
import type { KeyRange } from "./store.js";
import { KeyInvalid, StoreDamaged } from "./store-errors.js";

/** Every key begins with 1 byte kind and 2 bytes partition. */
export const KEY_HEAD_BYTES: number = 3;

/** Fields of a key by name, in the order in which they are written. */
export type KeyFields = Readonly<
  Record<string, KeyField<number> | KeyField<string> | KeyField<Uint8Array>>
>;

/** The part of a key that all keys share. */
export interface InPartition {
  /** 0–65,535. An embedded kernel has one: 0. */
  readonly partition: number;
}

/** The value object of a key with these fields. */
export type KeyOf<F extends KeyFields> = InPartition & {
  readonly [P in keyof F]: F[P] extends KeyField<infer T> ? T : never;
};

/** Keys of one kind. */
export interface KeyCodec<K extends InPartition> {
  readonly kind: number;
  /** The key's bytes. Throws `KeyInvalid` when a field does not fit. */
  encode(key: K): Uint8Array;
  /** The fields of stored bytes. Throws `StoreDamaged` when they are no key of this kind. */
  decode(bytes: Uint8Array): K;
  /** The bytes that all keys with these leading fields begin with; later fields may be left out. */
  prefix(leading: InPartition & Partial<K>): Uint8Array;
  /** All keys with these leading fields, and no others. */
  range(leading: InPartition & Partial<K>): KeyRange;
}

type FieldValue = number | string | Uint8Array;

/** Any field, seen from the loop that walks a key; each `KeyField<T>` meets only its own values. */
interface AnyField {
  readonly name: string;
  measure(value: FieldValue): number;
  write(bytes: Uint8Array, offset: number, value: FieldValue): number;
  read(
    bytes: Uint8Array,
    offset: number,
  ): { readonly value: FieldValue; readonly end: number } | undefined;
}

/** Makes the codec of one kind. The order of `fields` is the order of the bytes. */
export function keyCodec<F extends KeyFields>(kind: number, fields: F): KeyCodec<KeyOf<F>> {
  const list = Object.entries(fields).map(([name, field]) => anyField(name, field));
  const encodeLeading = (leading: InPartition, count: number): Uint8Array =>
    encodeFields(kind, leading, list.slice(0, count));
  const prefix = (leading: InPartition): Uint8Array =>
    encodeLeading(leading, countLeading(leading, list));
  return {
    kind,
    encode: (key) => encodeFields(kind, key, list),
    // The record has exactly the names and types of F: both come from the same list.
    decode: (bytes) => decodeFields(kind, bytes, list) as KeyOf<F>,
    prefix,
    range: (leading) => rangeOfPrefix(prefix(leading)),
  };
}

/** All keys that begin with `prefix`. */
export function rangeOfPrefix(prefix: Uint8Array): KeyRange {
  return { gte: prefix, lt: endOfPrefix(prefix) };
}

/** The smallest key above `key`: where the page after it begins. */
export function keyAfter(key: Uint8Array): Uint8Array {
  const after = new Uint8Array(key.byteLength + 1);
  after.set(key);
  return after;
}

/** Bytes that sort before a key and after every shorter one before it; no key themselves. The key is none of zeros only. */
export function keyBefore(key: Uint8Array): Uint8Array {
  const before = new Uint8Array(key.byteLength + 1);
  before.set(key);
  before[key.byteLength] = 0xff;
  for (let at = key.byteLength - 1; at >= 0; at--) {
    const byte = before[at] ?? 0;
    before[at] = byte === 0 ? 0xff : byte - 1;
    if (byte !== 0) break;
  }
  return before;
}

function endOfPrefix(prefix: Uint8Array): Uint8Array {
  let last = prefix.byteLength - 1;
  while (last >= 0 && prefix[last] === 0xff) last -= 1;
  const byte = prefix[last];
  if (byte === undefined)
    throw new KeyInvalid("Expected a prefix that has an end, but it is all 0xff.");
  const end = copyBytes(prefix, 0, last + 1);
  end[last] = byte + 1;
  return end;
}

function encodeFields(kind: number, key: InPartition, list: readonly AnyField[]): Uint8Array {
  u16.measure(key.partition, "partition");
  let length = KEY_HEAD_BYTES;
  for (const field of list) length += field.measure(requiredField(key, field.name));
  const bytes = new Uint8Array(length);
  bytes[0] = kind;
  writeU16(bytes, 1, key.partition);
  let offset = KEY_HEAD_BYTES;
  for (const field of list) offset = field.write(bytes, offset, requiredField(key, field.name));
  return bytes;
}

function decodeFields(
  kind: number,
  bytes: Uint8Array,
  list: readonly AnyField[],
): Record<string, FieldValue> {
  const head = u16.read(bytes, 1);
  if (bytes[0] !== kind || head === undefined) throw notAKey(kind, bytes);
  const key: Record<string, FieldValue> = { partition: head.value };
  let offset = head.end;
  for (const field of list) {
    const part = field.read(bytes, offset);
    if (part === undefined) throw notAKey(kind, bytes);
    key[field.name] = part.value;
    offset = part.end;
  }
  if (offset !== bytes.byteLength) throw notAKey(kind, bytes);
  return key;
}

function countLeading(leading: InPartition, list: readonly AnyField[]): number {
  let count = 0;
  while (count < list.length && fieldOf(leading, list[count]?.name) !== undefined) count += 1;
  for (const later of list.slice(count)) {
    if (fieldOf(leading, later.name) === undefined) continue;
    throw new KeyInvalid(
      `Expected the leading fields of a key, but ${later.name} is given without ${list[count]?.name}.`,
    );
  }
  return count;
}

function requiredField(key: InPartition, name: string): FieldValue {
  const value = fieldOf(key, name);
  if (value !== undefined) return value;
  throw new KeyInvalid(`Expected the key field ${name}, but it is missing.`);
}

function fieldOf(key: InPartition, name: string | undefined): FieldValue | undefined {
  if (name === undefined) return undefined;
  // Every key object of `KeyOf` is such a record; an interface has no index signature to say so.
  const record: object = key;
  return (record as Readonly<Partial<Record<string, FieldValue>>>)[name];
}

function anyField(
  name: string,
  field: KeyField<number> | KeyField<string> | KeyField<Uint8Array>,
): AnyField {
  // A field only ever meets the values of its own name; `KeyOf` says so to the caller.
  const erased = field as KeyField<FieldValue>;
  return {
    name,
    measure: (value) => erased.measure(value, name),
    write: (bytes, offset, value) => erased.write(bytes, offset, value),
    read: (bytes, offset) => erased.read(bytes, offset),
  };
}

function notAKey(kind: number, bytes: Uint8Array): StoreDamaged {
  const expected = `0x${kind.toString(16).padStart(2, "0")}`;
  return new StoreDamaged(`Expected a key of kind ${expected}, but found other bytes`, {
    key: toHex(bytes),
  });
}

import { writeU16, writeU32, writeU64 } from "../../log/bytes.js";
import { chunkKey, nameKey, runKey, visibilityKey } from "../../log/key.js";

/** Prefixes that are kept; beyond it they are all made anew. */
const prefixesMax = 10_000;

/**
 * Makes the keys of the checkpointer's hot path: the same bytes as the codecs of `log/key.ts`, with their common beginnings encoded
 * once. A short run has five keys.
 */
export class KeyMaker {
  readonly #partition: number;
  readonly #prefixes = new Map<string, Uint8Array>();

  constructor(partition: number) {
    this.#partition = partition;
  }

  /** A run's own row. */
  run(runNumber: number): Uint8Array {
    const key = this.#head(runKey.kind, 11);
    writeU64(key, 3, runNumber);
    return key;
  }

  /** Something numbered in a run; `kind` is that of a key whose fields are run number and a number of four bytes. */
  inRun(kind: number, runNumber: number, number: number): Uint8Array {
    const key = this.#head(kind, 15);
    writeU64(key, 3, runNumber);
    writeU32(key, 11, number);
    return key;
  }

  /** A chunk of a run's history. */
  chunk(runNumber: number, chunkNumber: number): Uint8Array {
    return this.inRun(chunkKey.kind, runNumber, chunkNumber);
  }

  /** The name of a run. */
  name(namespace: string, runId: string): Uint8Array {
    const prefix = this.#prefix(`n\0${namespace}`, () =>
      nameKey.prefix({ partition: this.#partition, namespace }),
    );
    const length = runId.length;
    const key = new Uint8Array(prefix.length + 2 + length);
    key.set(prefix);
    writeU16(key, prefix.length, length);
    for (let index = 0, at = prefix.length + 2; index < length; index++, at++) {
      const unit = runId.charCodeAt(index);
      if (unit >= 0x80) {
        return nameKey.encode({ partition: this.#partition, namespace, runId });
      }
      key[at] = unit;
    }
    return key;
  }

  /** One value of one field by which a run (number 0) or a part of it is listed. */
  visibility(
    listed: { readonly namespace: string; readonly field: string; readonly value: string },
    runNumber: number,
    number: number,
  ): Uint8Array {
    const { namespace, field, value } = listed;
    const prefix = this.#prefix(`v\0${namespace}\0${field}\0${value}`, () =>
      visibilityKey.prefix({ partition: this.#partition, namespace, field, value }),
    );
    const key = new Uint8Array(prefix.length + 12);
    key.set(prefix);
    writeU64(key, prefix.length, runNumber);
    writeU32(key, prefix.length + 8, number);
    return key;
  }

  #head(kind: number, length: number): Uint8Array {
    const key = new Uint8Array(length);
    key[0] = kind;
    writeU16(key, 1, this.#partition);
    return key;
  }

  // Ids hold no NUL, so the names of prefixes are injective.
  #prefix(name: string, encode: () => Uint8Array): Uint8Array {
    let prefix = this.#prefixes.get(name);
    if (prefix === undefined) {
      if (this.#prefixes.size >= prefixesMax) {
        this.#prefixes.clear();
      }
      prefix = encode();
      this.#prefixes.set(name, prefix);
    }
    return prefix;
  }
}

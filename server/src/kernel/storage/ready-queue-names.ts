import { equalBytes, readU32, readU64 } from "../../log/bytes.js";
import { readyKey } from "../../log/key.js";
import { queueKey } from "../dispatcher.js";
import { priorityOf, splitReadyQueueField } from "./index-entries.js";

/** Bytes of a ready row's key behind its queue and priority: sequence, run number, task number. */
const tailBytes = 20;
const runNumberFromEnd = 12;
const numberFromEnd = 4;

/** What a ready row says. */
export interface ReadyRow {
  /** The dispatcher's name of its queue. */
  readonly name: string;
  readonly priority: number;
  readonly runNumber: number;
  readonly number: number;
}

/** Reads ready rows in their order. Those of one queue and priority follow one another, so that what they share is decoded once. */
export class ReadyQueueNames {
  #head: Uint8Array = new Uint8Array(0);
  #name = "";
  #priority = 0;

  /** @throws StoreDamaged when it is no key of a ready row. */
  read(key: Uint8Array): ReadyRow {
    const end = key.length - tailBytes;
    if (end <= 0 || !equalBytes(key.subarray(0, end), this.#head)) {
      const { namespace, queue, priority } = readyKey.decode(key);
      const names = splitReadyQueueField(queue);
      this.#head = key.slice(0, end);
      this.#name = queueKey(namespace, names.queue, names.kind);
      this.#priority = priorityOf(priority);
    }
    return {
      name: this.#name,
      priority: this.#priority,
      runNumber: readU64(key, key.length - runNumberFromEnd),
      number: readU32(key, key.length - numberFromEnd),
    };
  }
}

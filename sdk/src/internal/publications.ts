import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import type { StepRecord } from "@pawl/proto/v1/worker_service_pb.js";

/**
 * What code published, in order. Code that runs again passes over what is recorded: as long as it publishes the same, nothing is published anew. Where it says something
 * that is not recorded, it has gone another way than before, and whatever it publishes from there on is new.
 */
export class Publications {
  readonly #recorded: readonly StepRecord[];
  #next = 0;
  #count: number;

  constructor(records: readonly StepRecord[]) {
    this.#recorded = records.filter(({ publishes }) => publishes !== undefined);
    this.#count = this.#recorded.length;
  }

  /** True when this was published before, at this place or, when code goes another way, at a later one. */
  passes(name: string, value: Payload): boolean {
    for (let at = this.#next; at < this.#recorded.length; at++) {
      const record = this.#recorded[at];
      if (record?.publishes === name && isSame(record.value, value)) {
        this.#next = at + 1;
        return true;
      }
    }
    this.#next = this.#recorded.length;
    return false;
  }

  /** Key of the next new one. */
  nextKey(): string {
    this.#count++;
    return `${this.#count}`;
  }
}

function isSame(recorded: Payload | undefined, value: Payload): boolean {
  return (
    recorded?.body.case === "data" &&
    value.body.case === "data" &&
    recorded.contentType === value.contentType &&
    Buffer.compare(recorded.body.value, value.body.value) === 0
  );
}

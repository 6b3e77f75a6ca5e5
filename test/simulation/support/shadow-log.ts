import { silentHooks } from "@pawl/server/core/apply/hooks.js";
import { apply, applyFirst } from "@pawl/server/core/apply.js";
import { findViolations } from "@pawl/server/core/invariants.js";
import type { MutableRun, Run } from "@pawl/server/core/state.js";
import { decodeEvents } from "@pawl/server/kernel/decode-events.js";
import type { StoredEvent } from "@pawl/server/kernel/kernel-api.js";
import { PlanCache } from "@pawl/server/kernel/plan-cache.js";
import { segmentKey } from "@pawl/server/log/key.js";
import { chainOrigin } from "@pawl/server/log/meta.js";
import {
  type ChainPoint,
  chainPointOf,
  readSegment,
  verifyLink,
} from "@pawl/server/log/segment.js";
import type { RowPut } from "@pawl/server/log/store.js";
import { testPartition, testStoreId } from "../../support/kernel.js";
import { begins } from "./incarnations.js";

/** One run as the durable log tells it. */
export interface ShadowRun {
  readonly number: number;
  readonly events: StoredEvent[];
  /** The events applied, one after the other, by the product's own `apply`. */
  readonly state: MutableRun;
  /** How each earlier incarnation was when the next began. */
  readonly earlier: Run[];
}

/**
 * The log as an outside witness saw it become durable, kept for ever: what the kernel said, read back, and served is judged by it. It also
 * checks the log itself: no gap, every link, no stored segment changed or gone, and the invariants of every state after every event.
 */
export class ShadowLog {
  /** Told of each event as it becomes durable. */
  onEvent: (run: ShadowRun, event: StoredEvent) => void = () => {};
  /** By run number; run 0 has no state. */
  readonly runs: Map<number, ShadowRun> = new Map();
  readonly #values = new Map<number, Uint8Array>();
  readonly #hashes = new Map<number, string>();
  readonly #complain: (text: string) => void;
  readonly #plans = new PlanCache();
  #head: ChainPoint = chainOrigin(testStoreId);

  constructor(complain: (text: string) => void) {
    this.#complain = complain;
    this.#hashes.set(0, hexOf(this.#head.hash));
  }

  /** Where the durable log ends. */
  get head(): ChainPoint {
    return this.#head;
  }

  /** A run by its id. */
  find(runId: string): ShadowRun | undefined {
    for (const run of this.runs.values()) {
      if (run.state.kind === "run" && run.state.runId === runId) {
        return run;
      }
    }
    return undefined;
  }

  /** True for the end of a segment that is durable, with its hash. */
  has(sequence: number, hash: Uint8Array): boolean {
    return this.#hashes.get(sequence) === hexOf(hash);
  }

  /** A segment became durable. */
  add(row: RowPut): void {
    const segment = readSegment(row.key, row.value);
    try {
      verifyLink(this.#head, segment);
    } catch (error) {
      this.#complain(`the log is not one chain: ${String(error)}`);
    }
    this.#values.set(segment.firstSequence, row.value);
    this.#head = chainPointOf(segment);
    this.#hashes.set(this.#head.sequence, hexOf(this.#head.hash));
    for (const slice of segment.slices()) {
      if (slice.runNumber !== 0) {
        for (const event of decodeEvents(slice)) {
          this.#apply(slice.runNumber, event);
        }
      }
    }
  }

  /** Compares what a disk holds after a crash; what is beyond became durable without a word. */
  compare(rows: readonly RowPut[]): void {
    let last = 0;
    for (const row of rows) {
      const { sequence } = segmentKey.decode(row.key);
      const known = this.#values.get(sequence);
      last = sequence;
      if (known === undefined) {
        this.add(row);
      } else if (!Buffer.from(known).equals(row.value)) {
        this.#complain(`the segment at ${sequence} was changed`);
      }
    }
    const lastKnown = [...this.#values.keys()].at(-1) ?? 0;
    if (last < lastKnown) {
      this.#complain(`the log lost its end: it had ${lastKnown}, and now ends with ${last}`);
    }
  }

  #apply(number: number, event: StoredEvent): void {
    const { body, atMs } = event;
    const meta = { atMs, number: event.number };
    let run = this.runs.get(number);
    try {
      if (run === undefined) {
        const state = applyFirst(body, meta, this.#plans.recorded, silentHooks);
        run = { number, events: [event], state, earlier: [] };
        this.runs.set(number, run);
      } else {
        run.events.push(event);
        if (begins(body)) {
          run.earlier.push(copyOf(run.state));
        }
        apply(run.state, body, meta, silentHooks);
      }
    } catch (error) {
      this.#complain(`event ${event.number} of run ${number} does not apply: ${String(error)}`);
      return;
    }
    for (const { subject, expected, actual } of findViolations(run.state)) {
      this.#complain(
        `run ${number} after event ${event.number}, ${subject}: expected ${expected}, but ${actual}`,
      );
    }
    this.onEvent(run, event);
  }
}

/** What of a state the next incarnation of its run would change is copied. */
function copyOf(run: Run): Run {
  return { ...run, signals: run.signals.map((signal) => ({ ...signal })) };
}

/** The key of a segment, for one that is handed over. */
export function keyOfSegment(firstSequence: number): Uint8Array {
  return segmentKey.encode({ partition: testPartition, sequence: firstSequence });
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

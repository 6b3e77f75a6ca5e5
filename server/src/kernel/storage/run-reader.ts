import type { EventShape } from "@pawl/proto/log/v1/event_wire.js";
import { CorruptHistory } from "../../core/apply/corrupt.js";
import { silentHooks } from "../../core/apply/hooks.js";
import { apply, applyFirst, type PlanSource } from "../../core/apply.js";
import type { MutableRun } from "../../core/state.js";
import { operationKeyKey } from "../../log/key.js";
import type { EventSlice } from "../../log/segment.js";
import { sha256 } from "../../log/sha256.js";
import type { Store } from "../../log/store.js";
import { StoreDamaged } from "../../log/store-errors.js";
import { decodeEvents } from "../decode-events.js";
import type { RunReader } from "../residency.js";
import { nothingStored, Resident } from "../resident.js";
import { readTargetRow } from "./index-rows.js";
import { KeyMaker } from "./key-maker.js";
import { replay, slicesAfter } from "./replay.js";
import { emptyParts } from "./run-rows.js";
import {
  chunkAt,
  faultedRun,
  type RowSource,
  readParts,
  readPartsNow,
  readRow,
  restore,
  type StoredRun,
} from "./stored-run.js";
import type { Tail } from "./tail.js";

/** What stored runs are read from. */
export interface StoredRunsParts {
  readonly store: Store;
  readonly partition: number;
  readonly tail: Tail;
  readonly plans: PlanSource;
}

/** Finds and reads runs: rows of the store, and what the tail of the log has beyond them. */
export class StoredRuns implements RunReader {
  /** Called with every run that was read, before it joins the residents. */
  onLoad: (resident: Resident) => void = () => {};
  /** Rows, chunks and plans as this reader reads them. */
  readonly source: RowSource;
  readonly #tail: Tail;

  constructor({ store, partition, tail, plans }: StoredRunsParts) {
    this.source = { store, partition, plans, keys: new KeyMaker(partition) };
    this.#tail = tail;
  }

  findRun(namespace: string, runId: string): number | undefined {
    const key = this.source.keys.name(namespace, runId);
    const value = this.source.store.get(key);
    return value === undefined
      ? this.#tail.findRun(namespace, runId)
      : readTargetRow(key, value).runNumber;
  }

  findOperation(namespace: string, operationKey: string): number | undefined {
    const { partition, store } = this.source;
    const keyHash = sha256(Buffer.from(operationKey, "utf8"));
    const key = operationKeyKey.encode({ partition, namespace, keyHash });
    const value = store.get(key);
    return value === undefined
      ? this.#tail.findOperation(operationKey)
      : readTargetRow(key, value).runNumber;
  }

  namespaceOf(number: number): string | undefined {
    const [inTail] = this.#tail.slices(number) ?? [];
    try {
      const slices =
        inTail?.firstEventNumber === 1 ? [inTail] : [...chunkAt(this.source, number, 0).slices()];
      return namesOf(slices).namespace;
    } catch {
      return undefined; // Damage of the run is told where the run is asked for.
    }
  }

  load(number: number): Resident | "absent" | "paged" {
    const row = readRow(this.source, number);
    if (row === undefined) {
      return this.#tail.has(number) ? this.#adopt(number, undefined) : "absent";
    }
    if (row.row.split) {
      return "paged";
    }
    return this.#adopt(number, restore(this.source, number, row, noParts));
  }

  async loadPaged(number: number): Promise<Resident | undefined> {
    const stored = await this.#read(number);
    return stored === undefined ? undefined : this.#adopt(number, stored);
  }

  rebuild(resident: Resident, turnBaseMs: number): MutableRun {
    const state = this.#readNow(resident.number);
    const run = replay(state, resident.slices, this.source.plans);
    return this.#replayPending(run, resident.pending, turnBaseMs);
  }

  /**
   * The state of a run that has nothing newer in memory, without making it resident. Undefined: there is none; `paged`: its parts must be
   * read, which takes a residence, so that nobody changes them meanwhile.
   */
  peek(number: number): MutableRun | "paged" | undefined {
    const row = readRow(this.source, number);
    if (row === undefined || row.row.split) {
      return row === undefined ? undefined : "paged";
    }
    return restore(this.source, number, row, noParts).run;
  }

  async #read(number: number): Promise<StoredRun | undefined> {
    const row = readRow(this.source, number);
    if (row === undefined) {
      return undefined;
    }
    return restore(this.source, number, row, await readParts(this.source, number, row.row));
  }

  /** Reads rows while a checkpoint of the same run may be on its way to the store: again, until nothing came between. */
  #readNow(number: number): MutableRun | undefined {
    for (;;) {
      const row = readRow(this.source, number);
      if (row === undefined) {
        return undefined;
      }
      const parts = readPartsNow(this.source, number, row.row);
      const again = readRow(this.source, number);
      if (again?.row.eventCount === row.row.eventCount) {
        const { run, isSound } = restore(this.source, number, row, parts);
        if (isSound) {
          return run;
        }
        throw new CorruptHistory(`a history of run ${number} that applies`, run.fault);
      }
    }
  }

  /** Makes a resident of what is stored and what the tail has beyond it; from here on the slices are the resident's. */
  #adopt(number: number, stored: StoredRun | undefined): Resident {
    const rows = stored?.stored ?? nothingStored;
    const slices = slicesAfter(this.#tail.slices(number) ?? [], rows.chunks.nextEventNumber - 1);
    const { run, isSound } = this.#bringUp(stored, slices);
    const resident = new Resident(number, run, rows, slices);
    if (!isSound) {
      resident.isSound = false;
      resident.run.eventCount = resident.recordedEvents;
    }
    this.#tail.take(number);
    this.onLoad(resident);
    return resident;
  }

  #bringUp(
    stored: StoredRun | undefined,
    slices: readonly EventSlice[],
  ): { readonly run: MutableRun; readonly isSound: boolean } {
    if (stored?.isSound === false) {
      return stored;
    }
    try {
      const run = replay(stored?.run, slices, this.source.plans);
      if (run !== undefined) {
        return { run, isSound: true };
      }
      throw new CorruptHistory("a run with rows or events", "it has none");
    } catch (error) {
      if (!(error instanceof CorruptHistory)) {
        throw error;
      }
      return { run: faultedRun(stored?.run ?? namesOf(slices), error), isSound: false };
    }
  }

  #replayPending(
    state: MutableRun | undefined,
    pending: readonly EventShape[],
    turnBaseMs: number,
  ): MutableRun {
    let run = state;
    for (const { body, deltaMs } of pending) {
      if (body.case === undefined) {
        continue; // Never made: what is pending was decided here.
      }
      const atMs = turnBaseMs + deltaMs;
      if (run === undefined) {
        run = applyFirst(body, { atMs, number: 1 }, this.source.plans, silentHooks);
      } else {
        apply(run, body, { atMs, number: run.eventCount + 1 }, silentHooks);
      }
    }
    if (run === undefined) {
      throw new CorruptHistory("a run with rows or events", "it has none");
    }
    return run;
  }
}

const noParts = emptyParts();

/** Names of a run whose first event is in the tail. */
function namesOf(
  slices: readonly EventSlice[],
): Pick<MutableRun, "namespace" | "runId" | "workflow" | "fault"> {
  const [first] = slices;
  const event = first?.firstEventNumber === 1 ? decodeEvents(first).next().value : undefined;
  if (event?.body.case === "runStarted") {
    const { namespace, runId, workflow } = event.body.value;
    return { namespace, runId, workflow, fault: "" };
  }
  if (event?.body.case === "operationIntended" || event?.body.case === "proposalMade") {
    const namespace = event.body.value.declaration?.namespace ?? "";
    return { namespace, runId: "", workflow: "", fault: "" };
  }
  throw new StoreDamaged(
    "Expected the beginning of a run in its rows or in the log, but found none",
    {
      ...(first === undefined ? {} : { firstBadSequence: first.firstSequence }),
    },
  );
}

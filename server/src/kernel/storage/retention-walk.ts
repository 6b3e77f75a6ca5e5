import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { kernelCaller } from "../../core/caller.js";
import { hasEnded, keptMs, type Retention } from "../../core/retention.js";
import type { Run } from "../../core/state.js";
import { readU64 } from "../../log/bytes.js";
import { operationKeyKey, rangeOfPrefix, visibilityKey } from "../../log/key.js";
import type { RowPut, Store } from "../../log/store.js";
import { StoreDamaged } from "../../log/store-errors.js";
import { readPages } from "../../log/store-scan.js";
import type { Loop } from "../loop.js";
import type { Retentions } from "../retentions.js";
import { listField } from "./index-entries.js";
import { readTargetRow } from "./index-rows.js";
import type { StoredRuns } from "./run-reader.js";
import { readRow } from "./stored-run.js";
import type { Sweeper } from "./sweeper.js";

/** What it needs. */
export interface RetentionWalkParts {
  readonly store: Store;
  readonly partition: number;
  readonly loop: Loop;
  readonly runs: StoredRuns;
  readonly retentions: Retentions;
  readonly sweeper: Sweeper;
  /** True while the checkpointer lags: then nothing is added to its work. */
  readonly isLagging: () => boolean;
}

/** Index rows read at once: after them others have their turn. */
const pageRows = 100;
/** Where the run number lies in a visibility key, from its end. */
const runNumberFromEnd = 12;

const endedStatuses = [
  RunStatus.COMPLETED,
  RunStatus.FAILED,
  RunStatus.CANCELLED,
  RunStatus.TERMINATED,
] as const;

/**
 * Finds what has been kept for as long as its namespace says, and asks for its deletion. Runs are found by the index of their states, which is in the
 * order of their beginnings: a walk ends at the first page of runs that began too late to be due, and all before is deleted already but what is held or
 * needed. Whether one is really due is decided by its state, in the step that deletes it.
 */
export class RetentionWalk {
  readonly #parts: RetentionWalkParts;
  #deleted = 0;

  constructor(parts: RetentionWalkParts) {
    this.#parts = parts;
  }

  /** How many it had deleted in this process. */
  get deleted(): number {
    return this.#deleted;
  }

  /** Walks all namespaces that keep something for a time only, and are not held. @throws what the store fails with */
  async walk(): Promise<void> {
    for (const { namespace } of this.#parts.retentions.list()) {
      for (const status of endedStatuses) {
        await this.#walkRuns(namespace, status);
      }
      await this.#walkOperations(namespace);
    }
  }

  /** What a namespace says now; undefined: nothing of it is to be deleted. It may change while a walk is under way. */
  #retention(namespace: string): Retention | undefined {
    const retention = this.#parts.retentions.of(namespace);
    return retention.hold === undefined && !this.#parts.sweeper.isStopped ? retention : undefined;
  }

  async #walkRuns(namespace: string, status: (typeof endedStatuses)[number]): Promise<void> {
    const { store, partition } = this.#parts;
    if (this.#keptOf(namespace, status) === undefined) {
      return;
    }
    const listed = { namespace, field: listField.status, value: `${status}` };
    const range = rangeOfPrefix(visibilityKey.prefix({ partition, ...listed }));
    for await (const page of readPages(store, range, pageRows)) {
      const kept = this.#keptOf(namespace, status);
      if (kept === undefined) {
        return;
      }
      const untilMs = this.#parts.loop.clock.now() - kept;
      let isYoung = true;
      for (const row of page) {
        const number = readU64(row.key, row.key.length - runNumberFromEnd);
        const times = this.#timesOf(number);
        // One that began once more has its number from its first beginning.
        isYoung &&= times !== undefined && times.startedAtMs > untilMs && times.incarnation === 1;
        if (times !== undefined && times.closedAtMs !== 0 && times.closedAtMs <= untilMs) {
          await this.#ask(number);
        }
      }
      if (isYoung) {
        return;
      }
      await this.#rest();
    }
  }

  #keptOf(namespace: string, status: RunStatus): number | undefined {
    const retention = this.#retention(namespace);
    return retention === undefined ? undefined : keptMs({ kind: "run", status }, retention);
  }

  /** Operations of scope NAMESPACE are found by their keys alone, so that a walk sees all of the ledger. */
  async #walkOperations(namespace: string): Promise<void> {
    const { store, partition } = this.#parts;
    if (this.#retention(namespace)?.keep.operationsMs === undefined) {
      return;
    }
    const range = rangeOfPrefix(operationKeyKey.prefix({ partition, namespace }));
    for await (const page of readPages(store, range, pageRows)) {
      if (this.#retention(namespace)?.keep.operationsMs === undefined) {
        return;
      }
      for (const row of page) {
        const number = this.#ledgerAt(row);
        if (number !== undefined) {
          await this.#ask(number);
        }
      }
      await this.#rest();
    }
  }

  /** Number of the operation of scope NAMESPACE behind a key, when it has ended. */
  #ledgerAt({ key, value }: RowPut): number | undefined {
    const { runNumber } = readTargetRow(key, value);
    const run = this.#read(() => this.#stateOf(runNumber));
    return run?.kind === "ledger" && hasEnded(run) ? runNumber : undefined;
  }

  #stateOf(number: number): Run | undefined {
    const { loop, runs } = this.#parts;
    const run = loop.residency.resident(number)?.run ?? runs.peek(number);
    return run === "paged" ? undefined : run;
  }

  #timesOf(number: number): Pick<Run, "startedAtMs" | "closedAtMs" | "incarnation"> | undefined {
    const { loop, runs } = this.#parts;
    return this.#read(() => {
      const run = loop.residency.resident(number)?.run;
      return run === undefined ? readRow(runs.source, number)?.row : run;
    });
  }

  /** One that is damaged is kept as it is; any other error is the store's, and no word that nothing is there. */
  #read<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof StoreDamaged)) {
        throw error;
      }
      return undefined;
    }
  }

  async #ask(number: number): Promise<void> {
    const { loop, sweeper } = this.#parts;
    if (sweeper.isStopped) {
      return;
    }
    const command = {
      kind: "DeleteRun",
      expectedVersion: undefined,
      reason: "",
      dryRun: false,
      whenDue: true,
    } as const;
    const accepted = await new Promise<boolean>((resolve, reject) => {
      const { promises } = loop;
      const tag = promises.expect(
        (outcome) => outcome.accepted && !outcome.reply.existing,
        resolve,
        reject,
      );
      loop.execute({ kind: "number", number }, command, kernelCaller, { receiver: promises, tag });
    });
    this.#deleted += accepted ? 1 : 0;
  }

  async #rest(): Promise<void> {
    const { sweeper, isLagging } = this.#parts;
    do {
      await sweeper.rest();
    } while (isLagging() && !sweeper.isStopped);
  }
}

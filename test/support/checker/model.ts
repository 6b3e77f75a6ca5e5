/**
 * What an exported log says of the tasks and operations of one incarnation. Nothing here comes from the kernel: only the generated messages of the log, and
 * the definitions of docs/concepts/recovery.md.
 */

/** What a task needs, and whether that counts though it did not complete. */
export interface CheckedNeed {
  readonly task: number;
  readonly countsAnyway: boolean;
}

/** A task, as the events tell of it. Event numbers; 0: none. */
export interface CheckedTask {
  readonly name: string;
  readonly needs: readonly CheckedNeed[];
  /** How many of them must count. */
  readonly atLeast: number;
  readonly caller: number | undefined;
  readonly rollsBack: boolean;
  readonly joined: number;
  state: "idle" | "leased" | "review" | "ended";
  /** How it ended. */
  end: "" | "itself" | "skipped" | "person";
  hasWaited: boolean;
  /** Events of its leases, in order. */
  readonly leases: number[];
  /** Those of them that followed a lease which had not ended by waiting. */
  readonly again: number[];
  ended: number;
  /** How it ended that counts for those that need it. */
  fate: "" | "completed" | "lost" | "cancelled";
  /** Event with which enough of its needs counted. */
  satisfied: number;
}

/** An operation. */
export interface CheckedOperation {
  readonly key: string;
  readonly declaredBy: number;
  readonly joined: number;
  readonly isOfRun: boolean;
  task: number;
  state: "intended" | "doubt" | "review" | "settled";
  /** Events of its calls. */
  readonly calls: number[];
  isReconciled: boolean;
  settled: number;
}

/** A proposal, numbered through all incarnations. */
export interface CheckedProposal {
  readonly key: string;
  readonly task: number;
  readonly joined: number;
  state: "open" | "superseded" | "over" | "consumed";
}

/** A review. */
export interface CheckedReview {
  readonly subject: "operation" | "task" | "run";
  readonly operation: number;
  readonly waiting: Set<number>;
  isOpen: boolean;
}

/** What one incarnation has. */
export class Incarnation {
  readonly tasks: CheckedTask[] = [];
  readonly operations: CheckedOperation[] = [];
  readonly proposals: Map<number, CheckedProposal> = new Map();
  readonly reviews: CheckedReview[] = [];
  /** Waits by number: the task, and the review that it waits for, when it does. */
  readonly waits: {
    readonly task: number;
    readonly review: number | undefined;
    isOpen: boolean;
  }[] = [];
  isFaulted = false;
  isRunOpen = true;

  addTask(parts: Pick<CheckedTask, "name" | "joined"> & Partial<CheckedTask>): void {
    this.tasks.push({
      ...{ needs: [], atLeast: 0, caller: undefined, rollsBack: false, state: "idle", end: "" },
      ...{ hasWaited: false, leases: [], again: [], ended: 0, fate: "", satisfied: 0 },
      ...parts,
    });
  }

  /** Ends a task, and those that need it and can never run now. */
  end(
    task: number,
    how: CheckedTask["end"],
    event: number,
    fate: Exclude<CheckedTask["fate"], "">,
  ): void {
    const ended = this.tasks[task];
    if (ended === undefined || ended.state === "ended") {
      return;
    }
    Object.assign(ended, { state: "ended", end: how, ended: event, fate });
    for (const wait of this.waits) {
      if (wait.task === task) wait.isOpen = false;
    }
    if (fate === "cancelled") {
      return;
    }
    for (const [number, { needs, satisfied }] of this.tasks.entries()) {
      if (satisfied === 0 && needs.some((need) => need.task === task)) {
        this.#judge(number, event);
      }
    }
  }

  #judge(number: number, event: number): void {
    const task = this.tasks[number];
    if (task === undefined || task.state === "ended") return;
    const fates = task.needs.map((need) => ({ ...need, fate: this.tasks[need.task]?.fate ?? "" }));
    const counting = fates.filter(
      ({ fate, countsAnyway }) => fate === "completed" || (fate === "lost" && countsAnyway),
    );
    const lost = fates.filter(({ fate, countsAnyway }) => fate === "lost" && !countsAnyway);
    if (counting.length >= task.atLeast) {
      task.satisfied = event;
    } else if (task.needs.length - lost.length < task.atLeast) {
      this.end(number, "skipped", event, "lost");
    }
  }
}

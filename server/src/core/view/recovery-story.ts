import type { RecoveryClass } from "@pawl/proto/v1/recovery_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { silentHooks } from "../apply/hooks.js";
import { apply, applyFirst, compileRecordedPlan } from "../apply.js";
import type { EventBody, EventMeta } from "../event.js";
import type { MutableRun, Run } from "../state.js";
import { EventIndex } from "./event-index.js";
import { RecoveryFacts } from "./recovery-facts.js";
import {
  buildRecoveryLines,
  type RecoveryReportLine,
  type RecoveryView,
} from "./recovery-report.js";
import type { Standpoint } from "./why.js";

/** How much of a report is in a class. */
export interface RecoveryTotalLine {
  readonly class: RecoveryClass;
  readonly tasks: number;
  readonly operations: number;
}

/** Which report is to be told. */
export interface StoryOptions {
  /** The incarnation that lines are of. 0: the present one. */
  readonly incarnation: number;
  /** Only what was there at this sequence, and what became of it since. Undefined: all, from the beginning. */
  readonly since?: number;
}

/** What a report says. */
export interface RecoveryReport {
  readonly run: Run;
  readonly incarnation: number;
  readonly lines: readonly RecoveryReportLine[];
  readonly totals: readonly RecoveryTotalLine[];
  /** Of what was open at the sequence from which on the report counts. */
  readonly openTotals: readonly RecoveryTotalLine[];
  /** Of all other incarnations that have ended. */
  readonly others: readonly RecoveryTotalLine[];
  /** What became of what was open, for a report since some sequence. */
  readonly leases: LeasesSince;
}

/** What became of the leases that were held at the sequence from which on a report counts. */
export interface LeasesSince {
  /** Still held, or ended by their own workers. */
  readonly carriedOn: number;
  /** Ended without their workers' report. */
  readonly ended: number;
}

/** Where an incarnation is looked at from when it is over. */
const afterwards: Standpoint = { nowMs: 0 };

/**
 * The report of a run, computed from its log: the events are applied again, one after another, and what the state forgets (earlier leases,
 * earlier incarnations) is noted on the way. An incarnation is judged when it ends, so that a run of a million of them takes no more memory than one.
 */
export class RecoveryStory {
  readonly #options: StoryOptions;
  #run: MutableRun | undefined;
  #facts = new RecoveryFacts();
  readonly #index = new EventIndex();
  /** Last event that is not counted; 0: all are. */
  #sinceEvent = 0;
  /** Incarnation that was present at the sequence from which on the report counts. */
  #sinceIncarnation = 0;
  /** Leases that were held then, by task: true while nothing else ended them than their workers. */
  readonly #leases = new Map<number, { readonly leaseVersion: number; isKept: boolean }>();
  #hasBegun = false;
  #kept:
    | { readonly incarnation: number; readonly lines: readonly RecoveryReportLine[] }
    | undefined;
  readonly #others = new Totals();

  constructor(options: StoryOptions) {
    this.#options = options;
  }

  /**
   * Takes the next event in.
   *
   * @throws CorruptHistory when the events are not those of one aggregate, from its first on.
   */
  add(body: EventBody, meta: EventMeta, sequence: number): void {
    const { since = -1 } = this.#options;
    if (!this.#hasBegun && sequence > since) {
      this.#begin();
    }
    this.#noteLease(body);
    if (body.case === "runRestarted" || body.case === "runContinued") {
      this.#close(body, meta);
    }
    if (this.#run === undefined) {
      this.#run = applyFirst(body, meta, compileRecordedPlan, silentHooks);
    } else {
      apply(this.#run, body, meta, silentHooks);
    }
    this.#index.add(body, meta.number);
    this.#facts.add(this.#run, body, meta, this.#hasBegun);
  }

  /** The state that the events make; undefined before the first. */
  get run(): Run | undefined {
    return this.#run;
  }

  /** The report as of the last event. Undefined when there is none, or not of the incarnation asked for. */
  finish(from: Standpoint): RecoveryReport | undefined {
    const run = this.#run;
    if (run === undefined) {
      return undefined;
    }
    if (!this.#hasBegun) {
      this.#begin();
    }
    const wanted = this.#wanted;
    const isPresent = wanted === 0 || wanted === run.incarnation;
    const lines = isPresent ? this.#lines(run, from) : this.#kept?.lines;
    if (lines === undefined) {
      return undefined;
    }
    const totals = countClasses(lines);
    const openTotals = countClasses(lines.filter(({ wasOpen }) => wasOpen));
    const leases = [...this.#leases.values()];
    const carriedOn = leases.filter(({ isKept }) => isKept).length;
    return {
      ...{ run, lines, totals, openTotals, others: this.#others.list() },
      incarnation: isPresent ? run.incarnation : wanted,
      leases: { carriedOn, ended: leases.length - carriedOn },
    };
  }

  get #wanted(): number {
    return this.#sinceIncarnation > 0 ? this.#sinceIncarnation : this.#options.incarnation;
  }

  /** From here on events count. */
  #begin(): void {
    this.#hasBegun = true;
    const run = this.#run;
    if (run === undefined || this.#options.since === undefined) {
      return;
    }
    this.#sinceEvent = run.eventCount;
    this.#sinceIncarnation = run.kind === "run" ? run.incarnation : 0;
    for (const { number, status, leaseVersion } of run.tasks) {
      if (status === TaskStatus.LEASED) {
        this.#leases.set(number, { leaseVersion, isKept: true });
      }
    }
  }

  #noteLease(body: EventBody): void {
    if (this.#hasBegun && body.case === "leaseEnded") {
      const held = this.#leases.get(body.value.task);
      if (held?.leaseVersion === body.value.leaseVersion) {
        held.isKept = false;
      }
    }
  }

  /** An incarnation ends with this event. */
  #close(body: EventBody, { atMs, number }: EventMeta): void {
    const run = this.#run;
    if (run === undefined) {
      return;
    }
    const ended = body.case === "runContinued" ? endedBy(run, body.value.task, atMs) : run;
    const facts = body.case === "runContinued" ? this.#facts.tasks[body.value.task] : undefined;
    if (facts !== undefined) {
      facts.closedEvent = number;
      facts.lastEvent = number;
    }
    const lines = this.#lines(ended, afterwards);
    if (this.#wanted === run.incarnation) {
      this.#kept = { incarnation: run.incarnation, lines };
    } else {
      this.#others.add(lines);
    }
    this.#facts = new RecoveryFacts();
  }

  #lines(run: Run, from: Standpoint): RecoveryReportLine[] {
    const view: RecoveryView = {
      facts: this.#facts,
      events: this.#index,
      sinceEvent:
        this.#sinceIncarnation === run.incarnation || run.kind === "ledger" ? this.#sinceEvent : 0,
    };
    return buildRecoveryLines(run, from, view);
  }
}

/** The incarnation that its function ends by beginning the next one: its last task completes with that. */
function endedBy(run: MutableRun, task: number, atMs: number): Run {
  const tasks = run.tasks.map((each) =>
    each.number === task
      ? {
          ...each,
          status: TaskStatus.COMPLETED,
          closedAtMs: atMs,
          usedAttempts: each.usedAttempts + 1,
        }
      : each,
  );
  return { ...run, tasks };
}

function countClasses(lines: readonly RecoveryReportLine[]): RecoveryTotalLine[] {
  const totals = new Totals();
  totals.add(lines);
  return totals.list();
}

/** Counts lines by class. */
class Totals {
  readonly #byClass = new Map<RecoveryClass, { tasks: number; operations: number }>();

  add(lines: readonly RecoveryReportLine[]): void {
    for (const line of lines) {
      const total = this.#byClass.get(line.class) ?? { tasks: 0, operations: 0 };
      this.#byClass.set(line.class, total);
      total[line.operationKey === "" ? "tasks" : "operations"]++;
    }
  }

  /** In the order of the classes; those that are empty are left out. */
  list(): RecoveryTotalLine[] {
    return [...this.#byClass]
      .map(([kind, { tasks, operations }]) => ({ class: kind, tasks, operations }))
      .sort((one, other) => one.class - other.class);
  }
}

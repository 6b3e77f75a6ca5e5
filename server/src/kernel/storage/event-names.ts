import type { PlanSource } from "../../core/apply.js";
import type { EventBody } from "../../core/event.js";
import type { CompiledPlan } from "../../core/plan/task-spec.js";
import { nameOfTask } from "../../core/plan/tasks-of-run.js";
import type { Obligation, Proposal, Review } from "../../core/state.js";
import type { EventSlice } from "../../log/segment.js";
import { decodeEvents } from "../decode-events.js";
import type { StoredEvent, WatchedEvent } from "../kernel-api.js";
import type { Resident } from "../resident.js";
import { chunkSlices, type RowSource } from "./stored-run.js";

/** What the numbers in events of one incarnation stand for. */
interface Names {
  /** The first event of the incarnation. */
  readonly fromEvent: number;
  readonly incarnation: number;
  readonly taskName: (number: number) => string;
  readonly operationKey: (number: number) => string;
}

/** The names of the earlier incarnations of a run, as long as it is in memory and does not begin once more. */
interface Earlier {
  readonly incarnation: number;
  readonly names: readonly Names[];
}

/**
 * Names what events speak of by numbers. The state knows the present incarnation; what an earlier one called its tasks and operations is in
 * the history alone, and read from there when somebody looks that far back.
 */
export class EventNames {
  readonly #source: RowSource;
  readonly #earlier = new WeakMap<Resident, Earlier>();

  constructor(source: RowSource) {
    this.#source = source;
  }

  /** Events with what is needed to name their tasks and operations. */
  describe(resident: Resident, events: readonly StoredEvent[]): WatchedEvent[] {
    const { run, number: runNumber } = resident;
    const { runId, workflow } = run;
    const present = namesOf(resident);
    // Proposals and obligations keep their numbers through all incarnations.
    const proposal = (number: number): Proposal | undefined => run.proposals[number];
    const obligation = (number: number): Obligation | undefined => run.obligations[number];
    const presentReview = (number: number): Review | undefined => run.reviews[number];
    return events.map((event) => {
      const { incarnation, taskName, operationKey } =
        event.number >= present.fromEvent ? present : this.#namesAt(resident, event.number);
      const review = incarnation === run.incarnation ? presentReview : noReview;
      const of = { incarnation, taskName, operationKey, proposal, obligation, review };
      return { runNumber, runId, workflow, ...of, event };
    });
  }

  #namesAt(resident: Resident, event: number): Names {
    const { incarnation } = resident.run;
    let earlier = this.#earlier.get(resident);
    if (earlier?.incarnation !== incarnation) {
      earlier = { incarnation, names: this.#read(resident) };
      this.#earlier.set(resident, earlier);
    }
    return earlier.names.findLast(({ fromEvent }) => fromEvent <= event) ?? namesOf(resident);
  }

  #read(resident: Resident): Names[] {
    const names: GatheredNames[] = [];
    for (const slice of this.#slices(resident)) {
      for (const { body, number } of decodeEvents(slice)) {
        if (number >= resident.run.begunAtEvent) {
          return names;
        }
        note(names, body, number, this.#source.plans);
      }
    }
    return names;
  }

  *#slices({ number, stored, slices }: Resident): Iterable<EventSlice> {
    const chunkCount = stored.chunks.nextChunkNumber;
    yield* chunkSlices(this.#source, number, { chunkCount, after: 0 });
    yield* slices;
  }
}

/** Reviews of an earlier incarnation are in its history alone. */
function noReview(): undefined {}

function namesOf({ run }: Resident): Names {
  return {
    fromEvent: run.begunAtEvent,
    incarnation: run.incarnation,
    taskName: (number) => nameOfTask(run, number),
    operationKey: (number) => run.operations[number]?.declaration.key ?? "",
  };
}

/** Names that are being gathered from a history. */
class GatheredNames implements Names {
  readonly fromEvent: number;
  readonly incarnation: number;
  /** The tasks of its plan. */
  readonly planned: CompiledPlan["tasks"];
  /** What its tasks called, and what rolled them back; they are numbered on behind those of the plan. */
  readonly #joined: string[] = [];
  readonly #keys: string[] = [];
  #lastPlan: CompiledPlan["tasks"] | undefined;

  constructor(fromEvent: number, incarnation: number, tasks: CompiledPlan["tasks"]) {
    this.fromEvent = fromEvent;
    this.incarnation = incarnation;
    this.planned = tasks;
  }

  readonly taskName = (number: number): string =>
    this.planned[number]?.name ?? this.#joined[number - this.planned.length] ?? "";
  readonly operationKey = (number: number): string => this.#keys[number] ?? "";

  /** A task joined the run. */
  join(name: string): void {
    this.#joined.push(name);
  }

  /** The plan was revised: tasks that it adds join. */
  revise(numbers: readonly number[], plan: Uint8Array | undefined, plans: PlanSource): void {
    const { tasks } = plan === undefined ? { tasks: [] } : plans(plan);
    for (const [place, number] of numbers.entries()) {
      if (number >= this.planned.length + this.#joined.length) {
        this.join(tasks[place]?.name ?? "");
      }
    }
    this.#lastPlan = tasks;
  }

  /** The tasks of its last plan: its next incarnation begins with them, when its function begins it. */
  get lastPlan(): CompiledPlan["tasks"] {
    return this.#lastPlan ?? this.planned;
  }

  /** An operation was declared. */
  declare(operation: number, key: string): void {
    this.#keys[operation] = key;
  }
}

/** Adds what an event names to the last incarnation, or begins the next. */
function note(names: GatheredNames[], body: EventBody, number: number, plans: PlanSource): void {
  if (body.case === "runContinued") {
    names.push(new GatheredNames(number, body.value.incarnation, names.at(-1)?.lastPlan ?? []));
  } else if (body.case === "runStarted" || body.case === "runRestarted") {
    const { plan, incarnation } = body.value;
    names.push(new GatheredNames(number, incarnation, plan === undefined ? [] : plans(plan).tasks));
  } else if (body.case === "planRevised") {
    names.at(-1)?.revise(body.value.tasks, body.value.plan, plans);
  } else if (body.case === "tasksCalled") {
    for (const { name } of body.value.called) names.at(-1)?.join(name);
  } else if (body.case === "rollbackBegan") {
    names.at(-1)?.join(body.value.rollback?.name ?? "");
  } else if (body.case === "operationIntended" && body.value.declaration !== undefined) {
    names.at(-1)?.declare(body.value.operation, body.value.declaration.key);
  }
}

import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { Decision, Reply } from "@pawl/server/core/decision.js";
import { findViolations } from "@pawl/server/core/invariants.js";
import { isRunOpen } from "@pawl/server/core/transitions.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  completeTask,
  endLease,
  fireDeadline,
  intend,
  leaseTask,
  observeResult,
  reconcile,
  resolveReview,
  startRun,
} from "../core/support/commands.js";
import { Machine } from "../core/support/machine.js";
import { planOf, type TaskParts } from "../core/support/plans.js";
import { revisePlan } from "../core/support/revisions.js";
import { fingerprint, payload } from "../core/support/values.js";

/** A plan as the test knows it: what each task posts, and which earlier ones it needs. In the order of need. */
type Model = ReadonlyMap<string, { readonly text: number; readonly needs: readonly string[] }>;

/** One edit of a plan, or one thing that happens; numbers pick among what there is. */
type Move =
  | { readonly case: "lease" | "work" | "crash" | "resolve" | "restart"; readonly pick: number }
  | { readonly case: "time"; readonly ms: number }
  | { readonly case: "text"; readonly pick: number; readonly text: number }
  | { readonly case: "add"; readonly name: number; readonly text: number; readonly needs: number }
  | { readonly case: "remove" | "free"; readonly pick: number };

const pick = fc.nat(20);
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ case: fc.constant("lease"), pick } as const) },
  { weight: 10, arbitrary: fc.record({ case: fc.constant("work"), pick } as const) },
  { weight: 2, arbitrary: fc.record({ case: fc.constant("crash"), pick } as const) },
  { weight: 1, arbitrary: fc.record({ case: fc.constantFrom("resolve", "restart"), pick }) },
  { weight: 2, arbitrary: fc.record({ case: fc.constant("time"), ms: fc.nat(9_000) } as const) },
  {
    weight: 2,
    arbitrary: fc.record({ case: fc.constant("text"), pick, text: fc.nat(2) } as const),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      ...({ case: fc.constant("add"), name: fc.nat(5) } as const),
      ...{ text: fc.nat(2), needs: fc.nat(31) },
    }),
  },
  { weight: 1, arbitrary: fc.record({ case: fc.constantFrom("remove", "free"), pick }) },
);

/** Somebody who holds a task, or did: it posts the task's text at the sink, and then reports. */
interface Worker {
  readonly task: number;
  readonly leaseVersion: number;
  readonly intentId: string;
  readonly text: string;
  phase: "leased" | "posted" | "told";
}

/** Does a command that must be accepted. */
function must(machine: Machine, command: Parameters<Machine["do"]>[0]): Reply {
  const decision = machine.do(command);
  if (!decision.accepted) {
    throw new Error(decision.rejection.message);
  }
  return decision.reply;
}

/** Another call, whoever makes it. */
let intents = 0;

/** A run with its workers and a sink outside of it, which does what it is asked as often as it is asked, and keeps books. */
class World {
  readonly machine: Machine = new Machine();
  /** What the sink did, by operation key. */
  readonly books = new Map<string, string[]>();
  model: Model;
  #workers: Worker[] = [];

  constructor(model: Model) {
    this.model = model;
    this.machine.start(startRun(planOf(partsOf(model))));
  }

  get isOver(): boolean {
    return !isRunOpen(this.machine.state.status);
  }

  pass(ms: number): void {
    this.machine.nowMs += ms;
    for (const { number, status } of this.machine.state.tasks) {
      if (status === TaskStatus.BACKOFF) {
        this.machine.do(fireDeadline(number));
      }
    }
  }

  lease(chosen: number): void {
    const { state } = this.machine;
    const ready = state.tasks.filter(({ status }) => status === TaskStatus.READY);
    const task = ready[chosen % Math.max(1, ready.length)];
    if (task === undefined) {
      return;
    }
    must(this.machine, leaseTask(task.number));
    const input = state.plan.tasks.find(({ number }) => number === task.number)?.input;
    this.#workers.push({
      task: task.number,
      leaseVersion: task.leaseVersion,
      intentId: `i${++intents}`,
      text: Buffer.from(input ?? []).toString("hex"),
      phase: "leased",
    });
  }

  work(chosen: number): void {
    const worker = this.#workers[chosen % Math.max(1, this.#workers.length)];
    if (worker === undefined) {
      return;
    }
    const { task, leaseVersion } = worker;
    if (worker.phase === "leased") {
      this.#act(worker, this.machine.do(this.#intent(worker)));
    } else if (worker.phase === "posted") {
      this.machine.do({ ...observeResult(worker.intentId), operationKey: this.#keyOf(worker) });
      worker.phase = "told";
    } else {
      this.machine.do(completeTask(leaseVersion, { task, output: payload(worker.text) }));
      this.#dismiss(worker);
    }
  }

  #intent({ task, leaseVersion, intentId, text }: Worker) {
    return intend(leaseVersion, intentId, {
      lease: { task, leaseVersion },
      sinkKind: SinkKind.RECONCILABLE,
      payload: payload(text),
      fingerprint: fingerprint(text === "" ? 1 : Number.parseInt(text.slice(-8), 16) % 251),
    });
  }

  #act(worker: Worker, came: Decision): void {
    if (!came.accepted) {
      // The same effect of an earlier version comes first: that is waited for. Anything else ends the attempt.
      if (came.rejection.reason !== "PAWL_PREDECESSOR_UNSETTLED") {
        this.#dismiss(worker);
      }
      return;
    }
    const { intent } = came.reply;
    switch (intent?.case) {
      case "proceed":
        this.#post(intent.operationKey, worker);
        break;
      case "reuse":
        worker.phase = "told";
        break;
      case "lookUp":
        this.#lookUp(intent.operationKey, worker);
        break;
      case "review":
        this.#dismiss(worker);
        break;
      default:
        break;
    }
  }

  /** Half of those who cannot be heard any more had their call at the sink, half had not. */
  #post(key: string, worker: Worker): void {
    const posts = this.books.get(key) ?? [];
    this.books.set(key, [...posts, worker.text]);
    worker.phase = "posted";
  }

  #lookUp(operationKey: string, worker: Worker): void {
    const { task, leaseVersion, intentId } = worker;
    const operation = this.machine.state.operations.find(
      ({ declaration }) => declaration.key === operationKey,
    );
    const found = this.books.has(operationKey);
    const command = reconcile(
      leaseVersion,
      `i${++intents}`,
      found ? { case: "found", value: payload("ok") } : { case: "absent" },
      {
        ...{ lease: { task, leaseVersion }, operationKey },
        lookedUpIntentId: operation?.intentId ?? intentId,
      },
    );
    const came = this.machine.do(command);
    if (came.accepted && came.reply.intent?.case === "proceed") {
      this.#workers = this.#workers.map((each) =>
        each === worker ? { ...worker, intentId: command.intentId, phase: "leased" } : each,
      );
      this.#post(
        operationKey,
        this.#workers.find((each) => each.intentId === command.intentId) ?? worker,
      );
    }
  }

  #keyOf({ intentId }: Worker): string {
    const { operations } = this.machine.state;
    return operations.find((operation) => operation.intentId === intentId)?.declaration.key ?? "";
  }

  /** A worker is gone, before or after its call reached the sink; the kernel notices. */
  crash(chosen: number): void {
    const worker = this.#workers[chosen % Math.max(1, this.#workers.length)];
    if (worker === undefined) {
      return;
    }
    if (worker.phase === "leased" && chosen % 2 === 0) {
      // The intent is recorded, and the call never reaches the sink.
      this.machine.do(this.#intent(worker));
    }
    const { task, leaseVersion } = worker;
    this.machine.do(endLease(leaseVersion, LeaseEndReason.EXPIRED, { task }));
    this.#dismiss(worker);
  }

  /** The kernel is gone, and begins anew from its log; what it had acknowledged is there. */
  restart(): void {
    this.machine.crash(0);
    expect(findViolations(this.machine.state)).toEqual([]);
  }

  /** A person looks into the sink's books. */
  resolve(chosen: number): void {
    const { state } = this.machine;
    const open = state.reviews.filter(
      ({ resolvedAtMs, subject }) => resolvedAtMs === 0 && subject === ReviewSubject.OPERATION,
    );
    const review = open[chosen % Math.max(1, open.length)];
    if (review === undefined) {
      return;
    }
    const key = state.operations[review.operation]?.declaration.key ?? "";
    const isDone = this.books.has(key);
    this.machine.do(
      resolveReview(isDone ? ReviewChoice.DONE : ReviewChoice.NOT_DONE, {
        review: review.number,
        expectedVersion: review.version,
        result: isDone ? payload("ok") : undefined,
      }),
    );
  }

  #dismiss(worker: Worker): void {
    this.#workers = this.#workers.filter((each) => each !== worker);
  }

  /** Revises the plan to this model, and holds what the kernel says against what the test knows. */
  revise(model: Model): void {
    const { state } = this.machine;
    const before = state.plan.tasks.map(({ name, number }) => ({
      name,
      number,
      isComplete: state.tasks[number]?.status === TaskStatus.COMPLETED,
    }));
    const expected = state.revisions?.versions.length ?? 1;
    const { revision, existing } = must(this.machine, revisePlan(expected, partsOf(model)));
    if (existing) {
      return;
    }
    const same = sameTasks(this.model, model);
    const told = (revision?.tasks ?? []).map(
      (each) => `${each.name} ${each.number} ${each.revision}`,
    );
    const after = new Map(this.machine.state.plan.tasks.map(({ name, number }) => [name, number]));
    const known = before.map(({ name, number, isComplete }) => {
      const stays = isComplete ? "reused" : "kept";
      return `${name} ${number} ${same.has(name) ? stays : "superseded"}`;
    });
    const added = [...model.keys()]
      .filter((name) => !same.has(name))
      .map((name) => `${name} ${after.get(name)} added`);
    // Each record once, and in exactly one class.
    expect(told.toSorted()).toEqual([...known, ...added].toSorted());
    for (const { name, number } of before) {
      expect(after.get(name) === number).toBe(same.has(name));
    }
    this.model = model;
  }

  /** Everybody does what is left to do. */
  finish(): void {
    for (let round = 0; round < 200 && !(this.isOver && this.#workers.length === 0); round++) {
      this.pass(7_000);
      this.lease(round);
      this.work(round);
      this.resolve(round);
    }
    for (let round = 0; round < 20; round++) {
      this.pass(7_000);
      this.resolve(0);
    }
  }
}

function partsOf(model: Model): Record<string, TaskParts> {
  const retry = { attemptsMax: 1_000, workerLossesMax: 1_000, initialMs: 0 };
  return Object.fromEntries(
    [...model].map(([name, { text, needs }]) => [
      name,
      { input: payload(`${name} ${text}`), needs, retry },
    ]),
  );
}

/** Names of what is the same in both: itself, and all that it needs. */
function sameTasks(one: Model, other: Model): Set<string> {
  const same = new Set<string>();
  for (const [name, { text, needs }] of other) {
    const was = one.get(name);
    const isSame =
      was !== undefined &&
      was.text === text &&
      was.needs.join() === needs.join() &&
      needs.every((need) => same.has(need));
    if (isSame) same.add(name);
  }
  return same;
}

function edited(model: Model, edit: Move): Model | undefined {
  const names = [...model.keys()];
  const chosen = "pick" in edit ? (names[edit.pick % names.length] ?? "") : "";
  const task = model.get(chosen);
  switch (edit.case) {
    case "text":
      return task && new Map(model).set(chosen, { ...task, text: edit.text });
    case "free":
      return task && new Map(model).set(chosen, { ...task, needs: [] });
    case "remove":
      return names.length === 1
        ? undefined
        : new Map(
            [...model]
              .filter(([name]) => name !== chosen)
              .map(([name, { text, needs }]) => [
                name,
                { text, needs: needs.filter((need) => need !== chosen) },
              ]),
          );
    case "add": {
      const name = `t${edit.name}`;
      const needs = names.filter((_, at) => (edit.needs >> at) % 2 === 1);
      return model.has(name) ? undefined : new Map(model).set(name, { text: edit.text, needs });
    }
    default:
      return undefined;
  }
}

function happen(world: World, next: Move): void {
  switch (next.case) {
    case "lease":
    case "work":
    case "crash":
    case "resolve":
    case "restart":
      world[next.case](next.pick);
      break;
    case "time":
      world.pass(next.ms);
      break;
    default: {
      const model = edited(world.model, next);
      if (model !== undefined) world.revise(model);
    }
  }
}

/** What the sink's own books say, held against the ledger and the present plan. */
function expectBooks({ books, machine: { state } }: World): void {
  for (const [key, posts] of books) {
    expect(posts, key).toHaveLength(1);
    const operation = state.operations.find(({ declaration }) => declaration.key === key);
    expect(operation?.status, key).toBe(OperationStatus.OBSERVED);
  }
  for (const { status, declaration } of state.operations) {
    if (status === OperationStatus.OBSERVED) {
      expect(books.has(declaration.key), declaration.key).toBe(true);
    }
  }
  // The present plan is done, each task of it by one effect with the text that it has now.
  for (const { number, input } of state.plan.tasks) {
    const done = state.operations.filter(({ declaration }) => declaration.task === number);
    const texts = done.flatMap(({ declaration }) => books.get(declaration.key) ?? []);
    expect(state.tasks[number]?.status).toBe(TaskStatus.COMPLETED);
    expect(texts).toEqual([Buffer.from(input ?? []).toString("hex")]);
  }
}

test("whatever is edited and whoever dies, each record is in one class, and no effect is repeated or lost", () => {
  let revised = 0;
  let superseded = 0;
  fc.assert(
    fc.property(fc.array(move, { minLength: 20, maxLength: 60 }), (moves) => {
      const world = new World(
        new Map([
          ["a", { text: 0, needs: [] }],
          ["b", { text: 0, needs: ["a"] }],
          ["c", { text: 0, needs: ["a"] }],
          ["d", { text: 0, needs: ["b", "c"] }],
        ]),
      );
      for (const next of moves) {
        if (world.isOver) break;
        happen(world, next);
      }
      world.finish();
      const { state } = world.machine;
      expect(world.isOver).toBe(true);
      revised += (state.revisions?.versions.length ?? 1) - 1;
      superseded += state.operations.filter(({ declaration }) =>
        state.plan.tasks.every(({ number }) => number !== declaration.task),
      ).length;
      expectBooks(world);
    }),
    { numRuns: 60 },
  );
  expect(revised).toBeGreaterThan(20);
  expect(superseded).toBeGreaterThan(3);
});

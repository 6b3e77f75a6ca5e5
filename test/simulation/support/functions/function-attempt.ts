import type { CallTasks, RecordStep, WaitFor } from "@pawl/server/core/command.js";
import { failure, payload } from "../../../core/support/values.js";
import type { Answer } from "../answers.js";
import { LeaseHolder } from "../lease-holder.js";
import { outdated, Stopped } from "../perform.js";
import type { OperationSpec } from "../plans.js";
import type { Worker } from "../worker.js";
import type { Offer } from "../worker-connection.js";
import type { Given } from "./given.js";
import type { FunctionMemory } from "./memory.js";
import type { Calling, FunctionInstruction, FunctionProgram } from "./program.js";
import { readPage } from "./read-page.js";

/** What a function attempt is made of. */
export interface FunctionParts {
  readonly program: FunctionProgram;
  readonly memory: FunctionMemory;
  /** True: the memory is one that goes on where it stands. */
  readonly isWarm: boolean;
}

/** Shares of what is rare by itself. */
const misfitShare = 0.06;
const unvisitedShare = 0.15;
const warmShare = 0.75;

/**
 * One attempt of a function: its branches run as far as they go; then it is given the next outcome, and so on. While nothing is there it keeps its
 * lease for a moment, or gives it back until something is.
 */
export class FunctionAttempt extends LeaseHolder {
  readonly #program: FunctionProgram;
  readonly #memory: FunctionMemory;
  readonly #isWarm: boolean;
  /** True once it gives its lease back: what it is told from then on it is told again. */
  #isLeaving = false;
  #wake: () => void = () => {};

  constructor(worker: Worker, offer: Offer, { program, memory, isWarm }: FunctionParts) {
    super(worker, offer);
    this.#program = program;
    this.#memory = memory;
    this.#isWarm = isWarm;
  }

  /** Up to which event it was told of outcomes. */
  get heardThrough(): number {
    return this.#memory.heardThrough;
  }

  /** Something has ended for it. A message that does not follow on what it knows came after one that was lost. */
  hear(given: readonly Given[], { after, through }: { after: number; through: number }): void {
    if (!this.isOver && !this.#isLeaving && after <= this.#memory.heardThrough) {
      this.#memory.hear(given, through);
      this.#memory.note("an outcome under a lease");
      this.#wake();
    }
  }

  override lose(): void {
    super.lose();
    this.#wake();
  }

  override askToStop(): void {
    super.askToStop();
    this.#wake();
  }

  protected override refused(what: string, answer: Extract<Answer, { accepted: false }>): void {
    if (!expected.has(answer.reason) && !outdated.has(answer.reason)) {
      const { runId, taskName } = this.offer;
      this.worker.world.complain(
        `${what} of function ${taskName} of ${runId} was refused as ${answer.reason}: ${answer.message}`,
      );
    }
  }

  protected async run(): Promise<void> {
    const { prng } = this.worker.world;
    const isAgain = !this.#isWarm && this.offer.leaseVersion > 1;
    await this.#readRecords();
    if (isAgain && prng.chance(misfitShare)) {
      await this.#misfit();
      return;
    }
    for (;;) {
      for (const branch of this.#program.branches.keys()) {
        await this.#advance(branch);
      }
      if (this.#isDone) {
        await this.#finish();
        return;
      }
      while (this.#memory.giveNext() === undefined) {
        await this.#awaitNext();
        await this.#requireMayGoOn();
      }
    }
  }

  get #isDone(): boolean {
    const { branches } = this.#program;
    return branches.every((code, branch) => this.#memory.places[branch] === code.length);
  }

  /** @throws Stopped when it was asked to stop, which it says. */
  async #requireMayGoOn(): Promise<void> {
    if (this.mustStop) {
      await this.confirmCancel();
      throw new Stopped("it was asked to stop");
    }
  }

  /** What it does not know yet: the rest of what is recorded. */
  async #readRecords(): Promise<void> {
    const { page, eventCount, warmThrough } = this.offer;
    const isWarm = this.#isWarm;
    if (isWarm) this.#memory.note("a function goes on warm");
    else if (this.offer.leaseVersion > 1) this.#memory.note("a function runs again cold");
    // A copy that was dropped reads everything, though only what is new was sent.
    let after = warmThrough !== undefined && !isWarm ? 0 : page.next;
    if (after !== undefined) {
      this.#memory.note(
        after === 0 ? "a function lost its copy" : "a function reads several pages",
      );
    }
    if (after !== 0) {
      this.#memory.read(page, page.next ?? eventCount);
    }
    while (after !== undefined) {
      const { value } = await readPage(this.worker, this.offer, { after, isWarm });
      if (value === "gone") {
        throw new Stopped("what is recorded is gone");
      }
      this.#memory.read(value.page, value.page.next ?? value.eventCount);
      after = value.page.next;
    }
  }

  /** Its code has been changed, and asks for something else than what is recorded. */
  async #misfit(): Promise<void> {
    await this.report({
      ...this.lease("FailTask"),
      failure: failure({ kind: "RecordMismatch", code: "PAWL_RECORD_MISMATCH" }),
      retryAfterMs: undefined,
      progress: undefined,
      forReview: true,
    });
  }

  /** Lets a branch run as far as it goes. @throws Stopped when the attempt has ended. */
  async #advance(branch: number): Promise<void> {
    const { places } = this.#memory;
    const code = this.#program.branches[branch] ?? [];
    for (const [place, instruction] of code.entries()) {
      if (place < (places[branch] ?? 0)) {
        continue;
      }
      await this.#requireMayGoOn();
      if (this.worker.world.prng.chance(this.worker.parts.settings.failShare / 2)) {
        await this.fail();
        throw new Stopped("it failed");
      }
      if (!(await this.#do(instruction))) {
        return;
      }
      places[branch] = place + 1;
    }
  }

  /** True when its branch goes on. */
  async #do(instruction: FunctionInstruction): Promise<boolean> {
    switch (instruction.case) {
      case "step":
        await this.#step(instruction.name, instruction.publishes);
        return true;
      case "perform":
        await this.#perform(instruction.operation);
        return true;
      case "undo":
        await this.#undo(instruction.operation);
        return true;
      case "call":
        return await this.#call(instruction);
      case "throw":
        await this.fail(failure({ kind: "Fatal", retryable: false }));
        throw new Stopped("it failed for good");
      case "await":
        return await this.#await(instruction.waits);
    }
  }

  async #step(name: string, publishes: string | undefined): Promise<void> {
    const value = `${this.#memory.thoughts}${"x".repeat(this.worker.parts.stepBytes)}`;
    await this.#record({ name, value: payload(value), publishes }, JSON.stringify(value));
  }

  async #perform(operation: OperationSpec): Promise<void> {
    const { thoughts: content, seenThrough, results } = this.#memory;
    results.set(operation.name, await this.perform(operation, { content, seenThrough }));
  }

  async #undo(operation: OperationSpec): Promise<void> {
    const content = this.#memory.thoughts;
    const rollback = { operation: operation.name, target: "sink" };
    const name = `$rollback/${operation.name}`;
    await this.#record({ name, value: payload(content), rollback }, JSON.stringify(content));
  }

  /** Records a step, once. What is recorded must be what the code says now. */
  async #record(
    step: Pick<RecordStep, "name" | "value" | "publishes" | "rollback" | "answers">,
    text: string,
    refused?: string,
  ): Promise<void> {
    const { recorded, steps, said, seenThrough } = this.#memory;
    const { name } = step;
    steps.set(name, text);
    const before = recorded.get(name);
    if (before !== undefined && before !== text) {
      const { runId, taskName } = this.offer;
      this.worker.world.complain(
        `step ${name} of function ${taskName} of ${runId} is recorded as ${before}, but its code says ${text} now`,
      );
    }
    if (before !== undefined || said.has(name)) {
      return;
    }
    said.add(name);
    const command: RecordStep = {
      ...this.lease("RecordStep"),
      ...{ key: undefined, seenThrough, read: false },
      failure: refused === undefined ? undefined : failure({ kind: "Refused", message: refused }),
      ...step,
    };
    this.unsent.push({ target: this.offer.target, command });
    if (this.worker.world.prng.chance(0.5)) {
      await this.send(`step ${name}`, []);
    }
  }

  async #await(waits: readonly WaitFor[]): Promise<boolean> {
    const { given, said } = this.#memory;
    const names = new Set(waits.map(({ name }) => name));
    const first = [...given.values()].find((one) => names.has(one.name));
    if (first !== undefined) {
      await this.#answer(first);
      return true;
    }
    const what = `wait ${waits[0]?.name}`;
    // Else it is told with the next suspension.
    if (!said.has(what) && this.worker.world.prng.chance(0.6)) {
      said.add(what);
      const command = { ...this.lease("DeclareWaits"), waits } as const;
      await this.send(what, [{ target: this.offer.target, command }]);
    }
    return false;
  }

  /** Answers the update that it was given, or refuses it. */
  async #answer({ update, text }: Given): Promise<void> {
    if (update === undefined) {
      return;
    }
    const name = `answer ${update}`;
    if (update % 3 === 0) {
      await this.#record({ name, value: undefined, answers: update }, "", `no to ${text}`);
    } else {
      await this.#record({ name, value: payload(update), answers: update }, `${update}`);
    }
  }

  async #call({ called: tasks, join, rest }: Calling): Promise<boolean> {
    const { given } = this.#memory;
    const { taskName } = this.offer;
    // What is called by a called one bears its name first.
    const path = taskName === "main" ? "" : `${taskName}/`;
    const called = tasks.map((task) => ({ ...task, name: `${path}${task.name}` }));
    const open = called.map(({ name }) => name).filter((name) => !given.has(name));
    const first = called[0]?.name ?? "";
    await this.#say(`call ${first}`, { called });
    if (open.length === 0) {
      return true;
    }
    if (join === "all" || open.length === called.length) {
      return false;
    }
    for (const name of open) this.#memory.left.add(name);
    switch (rest) {
      case "cancel":
        await this.#say(`cancel ${first}`, { cancels: open });
        return true;
      case "request":
        await this.#say(`stop ${first}`, { stops: open.map(stopping) });
        return true;
      case "wait":
        await this.#say(`stop ${first}`, { stops: open.map(stopping) });
        return false;
      case "abandon":
        await this.#say(`abandon ${first}`, { abandons: open });
        return true;
      case "leave":
        return true;
    }
  }

  async #say(what: string, parts: Partial<CallTasks>): Promise<void> {
    if (this.#memory.said.has(what)) {
      return;
    }
    this.#memory.said.add(what);
    const none = { called: [], cancels: [], stops: [], abandons: [] };
    const command: CallTasks = { ...this.lease("CallTasks"), ...none, ...parts };
    await this.send(what, [{ target: this.offer.target, command }]);
  }

  /** Waits where it is for a while, and then without its lease. @throws Stopped when it was given back. */
  async #awaitNext(): Promise<void> {
    const { process, world } = this.worker;
    if (this.#memory.hasPending || this.mustStop) {
      return;
    }
    const holdMs = world.prng.pick([0, 0, 300, 3_000]);
    if (holdMs > 0 && !this.isLost) {
      if (this.unsent.length > 0) {
        await this.send("what is left", []);
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        process.after(holdMs, resolve);
      });
    }
    if (this.isLost) {
      throw new Stopped("the lease is lost");
    }
    if (!this.#memory.hasPending && !this.mustStop) {
      await this.#suspend();
    }
  }

  async #suspend(): Promise<void> {
    this.#isLeaving = true;
    const keepsWarm = this.worker.world.prng.chance(warmShare);
    const memory = this.#memory;
    const command = {
      ...this.lease("SuspendTask"),
      ...{ seenThrough: memory.seenThrough, waits: this.#openWaits(), progress: undefined },
      keepsWarm,
    };
    if (keepsWarm) {
      this.worker.warm.keep(this.offer, memory); // An offer may come before the answer does.
    }
    try {
      await this.report(command);
    } catch (error) {
      this.worker.warm.drop(this.offer);
      throw error;
    }
    throw new Stopped("it waits");
  }

  #openWaits(): WaitFor[] {
    const { places } = this.#memory;
    return this.#program.branches.flatMap((code, branch) => {
      const instruction = code[places[branch] ?? 0];
      return instruction?.case === "await" ? instruction.waits : [];
    });
  }

  async #finish(): Promise<void> {
    const { incarnation, runId, taskName } = this.offer;
    const { steps, results, seenThrough, given } = this.#memory;
    if (this.#program.continues.includes(incarnation)) {
      await this.#continue(seenThrough);
      return;
    }
    const output = payload({
      steps: Object.fromEntries(steps),
      results: Object.fromEntries(results),
      given: [...given.keys()],
    });
    const isLost = given.size > 0 && this.worker.world.prng.chance(unvisitedShare);
    const unvisited = isLost ? { unvisited: [`operation "lost" of ${taskName}`] } : {};
    await this.report({ ...this.lease("CompleteTask"), output, ...unvisited });
    this.worker.world.note(`${taskName} of ${runId} returned`);
  }

  /** Continues the run as new; when that is refused, its attempt fails. */
  async #continue(seenThrough: number): Promise<void> {
    const after = this.offer.incarnation;
    // What comes meanwhile it is not given any more.
    await this.worker.process.wait(this.worker.world.prng.pick([0, 1_000, 5_000]));
    const command = {
      ...this.lease("ContinueRun"),
      ...{ input: payload({ after }), seenThrough },
    } as const;
    const order = { target: this.offer.target, command };
    const { value } = await this.send("report ContinueRun", [order], { isForAnyLease: true });
    const answer = value.at(-1);
    if (answer?.accepted === false && refusedToContinue.has(answer.reason)) {
      await this.fail();
    }
  }
}

/** What may be said to a function whose lease is over, or whose run was asked to stop. */
const expected: ReadonlySet<string> = new Set([
  "PAWL_LEASE_LOST",
  "PAWL_RUN_OVER",
  "PAWL_TASK_NOT_FOUND", // Of a called one, when its run has begun once more.
]);

/** Why a run may not go on as new while something is left. */
const refusedToContinue: ReadonlySet<string> = new Set([
  "PAWL_ILLEGAL_TRANSITION",
  "PAWL_OPERATIONS_UNSETTLED",
  "PAWL_ROLLBACKS_RECORDED",
]);

function stopping(name: string): { readonly name: string; readonly reason: string } {
  return { name, reason: "enough" };
}

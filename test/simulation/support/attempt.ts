import type { ObligationOrder, RecordStep, WaitFor } from "@pawl/server/core/command.js";
import { payload } from "../../core/support/values.js";
import { fingerprintOf } from "./contents.js";
import { LeaseHolder } from "./lease-holder.js";
import { Stopped } from "./perform.js";
import { childWorkflow, type Instruction, type OperationSpec, type Telling } from "./plans.js";
import type { Worker } from "./worker.js";
import type { Offer } from "./worker-connection.js";

/** One attempt of a task: runs its code, and keeps its lease. */
export class Attempt extends LeaseHolder {
  readonly #code: readonly Instruction[];
  readonly #steps = new Map<string, string>();
  readonly #results = new Map<string, string>();
  /** What came of each wait. */
  readonly #waited = new Map<string, string>();

  constructor(worker: Worker, offer: Offer, code: readonly Instruction[]) {
    super(worker, offer);
    this.#code = code;
  }

  protected async run(): Promise<void> {
    const { prng } = this.worker.world;
    if (prng.chance(0.02)) {
      await this.report(this.giveBack(prng.below(500)));
      return;
    }
    for (const instruction of this.#code) {
      if (this.mustStop) {
        await this.confirmCancel();
        return;
      }
      if (this.#mustFail(instruction) || prng.chance(this.worker.parts.settings.failShare)) {
        await this.fail();
        return;
      }
      await this.#do(instruction);
    }
    const output = {
      steps: Object.fromEntries(this.#steps),
      results: Object.fromEntries(this.#results),
      waits: Object.fromEntries(this.#waited),
    };
    await this.report({ ...this.lease("CompleteTask"), output: payload(output) });
  }

  #mustFail(instruction: Instruction): boolean {
    return instruction.case === "fail" && instruction.incarnations.includes(this.offer.incarnation);
  }

  async #do(instruction: Instruction): Promise<void> {
    switch (instruction.case) {
      case "sleep":
        await this.worker.process.wait(instruction.ms);
        break;
      case "step":
        await this.#step(instruction.name);
        break;
      case "tell":
        await this.#tell(instruction);
        break;
      case "wait":
        await this.#wait(instruction.name, instruction.waits);
        break;
      case "perform":
        await this.#perform(instruction.operation);
        break;
      case "continue":
        await this.#continue(instruction.incarnations);
        break;
      case "fail":
    }
  }

  /** Ends the attempt and begins the next incarnation of the run. */
  async #continue(incarnations: readonly number[]): Promise<void> {
    const { incarnation } = this.offer;
    if (incarnations.includes(incarnation)) {
      await this.report({ ...this.lease("ContinueRun"), input: payload({ after: incarnation }) });
      throw new Stopped("its run goes on as new");
    }
  }

  /** Goes on with what ended first, or gives its lease back until something does. */
  async #wait(name: string, waits: readonly WaitFor[]): Promise<void> {
    const names = new Set(waits.map((wait) => wait.name));
    const first = [...this.offer.outcomes].find(([ended]) => names.has(ended));
    if (first !== undefined) {
      this.#waited.set(name, first.join(": "));
      const update = /^update (\d+) /.exec(first[1])?.[1];
      if (update !== undefined) {
        await this.#step(`answer ${update}`, { answers: Number(update) });
      }
      return;
    }
    await this.report({
      ...this.lease("SuspendTask"),
      seenThrough: this.offer.eventCount,
      waits,
      progress: undefined,
    });
    throw new Stopped("it waits");
  }

  /** Tells another run something, or starts a child; what is recorded is not sent again. */
  async #tell(telling: Telling): Promise<void> {
    const { name, what, awaits } = telling;
    const key = undefined;
    const runId = what === "child" ? "" : telling.runId;
    const order = this.#orderOf(telling);
    const command = { ...this.lease("MakeObligation"), name, key, runId, order, seenThrough: 0 };
    const { target } = this.offer;
    const { value } = await this.send(`tell ${what} ${runId}`, [{ target, command }]);
    const last = value.at(-1);
    if (!awaits || last?.accepted !== true) {
      return;
    }
    if (what === "child" && last.obligation !== undefined) {
      const subject = { case: "child", obligation: last.obligation } as const;
      await this.#wait(name, [{ name: `${name}.child`, key, subject }]);
    } else if (last.owed !== undefined) {
      const subject = { case: "obligation", obligation: last.owed } as const;
      await this.#wait(name, [{ name: `${name}.answer`, key, subject }]);
    }
  }

  #orderOf({ name, what, parentClose }: Telling): ObligationOrder {
    const { runId, taskName } = this.offer;
    const told = payload({ of: runId, task: taskName, name });
    switch (what) {
      case "cancel":
        return { case: "cancel", reason: `told by ${runId}` };
      case "signal":
        return { case: "signal", signal: `signal${name.length % 2}`, payload: told };
      case "child":
        return {
          case: "child",
          ...{ workflow: childWorkflow.name, plan: childWorkflow.plan.bytes },
          ...{ input: told, fingerprint: fingerprintOf(runId, name), parentClose, runTimeoutMs: 0 },
        };
    }
  }

  async #step(
    name: string,
    message: Pick<RecordStep, "publishes" | "answers"> = publicationOf(name),
  ): Promise<void> {
    const { prng } = this.worker.world;
    const recorded = this.offer.steps.get(name);
    const { stepBytes } = this.worker.parts;
    const value = recorded ?? JSON.stringify(`${prng.below(1_000_000)}${"x".repeat(stepBytes)}`);
    this.#steps.set(name, value);
    if (recorded !== undefined) {
      return;
    }
    this.unsent.push({
      target: this.offer.target,
      command: {
        ...this.lease("RecordStep"),
        name,
        key: undefined,
        value: payload(JSON.parse(value)),
        failure: undefined,
        seenThrough: 0,
        read: false,
        ...message,
      },
    });
    if (prng.chance(0.5)) {
      await this.send(`step ${name}`, []);
    }
  }

  async #perform(operation: OperationSpec): Promise<void> {
    const { runId, eventCount: seenThrough } = this.offer;
    const content = operation.isOfRun ? { of: runId } : Object.fromEntries(this.#steps);
    this.#results.set(operation.name, await this.perform(operation, { content, seenThrough }));
  }
}

/** Every other step publishes its value. */
function publicationOf(name: string): Pick<RecordStep, "publishes"> {
  return /[02468]$/.test(name) ? { publishes: "last" } : {};
}

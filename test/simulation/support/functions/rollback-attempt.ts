import { payload } from "../../../core/support/values.js";
import { textOf } from "../contents.js";
import { LeaseHolder } from "../lease-holder.js";
import { Stopped } from "../perform.js";
import type { OperationSpec } from "../plans.js";
import type { Worker } from "../worker.js";
import type { Offer } from "../worker-connection.js";
import type { RecordedStep } from "./given.js";
import type { FunctionProgram } from "./program.js";
import { readPage } from "./read-page.js";

/** Undoes what a function did that has ended without success: what it recorded, the latest first. */
export class RollbackAttempt extends LeaseHolder {
  readonly #program: FunctionProgram;

  constructor(worker: Worker, offer: Offer, program: FunctionProgram) {
    super(worker, offer);
    this.#program = program;
  }

  protected async run(): Promise<void> {
    const { prng } = this.worker.world;
    const { seenThrough } = { seenThrough: this.offer.eventCount };
    for (const { undoes = "", content } of await this.#recorded()) {
      if (prng.chance(this.worker.parts.settings.failShare)) {
        await this.fail();
        return;
      }
      const parts = { content: contentOf(content), seenThrough, rollback: true };
      await this.perform(this.#operation(undoes), parts);
    }
    await this.report({
      ...this.lease("CompleteTask"),
      output: payload({ steps: {}, results: {} }),
    });
  }

  /** What is to be undone, the latest first. */
  async #recorded(): Promise<readonly RecordedStep[]> {
    let { page } = this.offer;
    const steps = [...page.steps];
    while (page.next !== undefined) {
      const place = { after: page.next, isWarm: false };
      const { value } = await readPage(this.worker, this.offer, place);
      if (value === "gone") {
        throw new Stopped("what is to be undone is gone");
      }
      page = value.page;
      steps.push(...page.steps);
    }
    return steps.filter(({ undoes }) => undoes !== undefined).reverse();
  }

  #operation(name: string): OperationSpec {
    for (const instruction of this.#program.branches.flat()) {
      if (instruction.case === "undo" && instruction.operation.name === name) {
        return instruction.operation;
      }
    }
    throw new Error(`expected an operation ${name} to undo with`);
  }
}

/** What a recorded payload holds. */
function contentOf(content: Uint8Array | undefined): unknown {
  return JSON.parse(textOf(content));
}

import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import { findUpdate } from "@pawl/server/core/view/update-standing.js";
import { RejectionError, type Target } from "@pawl/server/kernel/outcome.js";
import { payload } from "../../core/support/values.js";
import { Caller, type World } from "./caller.js";
import { answerText } from "./check-updates.js";
import type { Prng } from "./prng.js";
import type { Process } from "./process.js";

/** What a messenger is made of. */
export interface MessengerParts {
  readonly world: World;
  readonly process: Process;
  readonly prng: Prng;
  /** Mean time between two messages, in ms. 0: never. */
  readonly everyMs: number;
  /** Runs that were started, some of which have ended. */
  readonly runIds: () => readonly string[];
}

type RunTarget = Extract<Target, { readonly kind: "run" }>;

interface SeenInput {
  readonly runNumber: number;
  readonly incarnation: number;
  readonly input: number;
  readonly version: number;
}

/** Sends signals to runs, early, late, twice, and to those that have ended; and answers what tasks ask. */
export class Messenger extends Caller {
  /** What was told as the answer to an update, by run and id. */
  readonly answers: Map<string, string> = new Map();
  readonly #parts: MessengerParts;
  #sent = 0;

  constructor(parts: MessengerParts) {
    super(parts.world, parts.process);
    this.#parts = parts;
  }

  /** Begins to send, again and again. */
  begin(): void {
    this.process.begin();
    this.#work().catch((error: unknown) => {
      this.world.complain(`the messenger fails: ${String(error)}`);
    });
  }

  async #work(): Promise<void> {
    const { prng, everyMs, runIds } = this.#parts;
    while (everyMs > 0) {
      await this.process.wait(prng.around(everyMs));
      const all = runIds();
      if (all.length > 0) {
        await this.#send(prng.pick(all));
      }
      const asked = await this.#look();
      for (const input of asked.filter(() => prng.chance(0.5))) {
        await this.#answer(input);
      }
    }
  }

  async #send(runId: string): Promise<void> {
    const { prng } = this.#parts;
    // Now and then a request that was sent before: what it brings follows from its number.
    const number = this.#sent > 0 && prng.chance(0.3) ? prng.below(this.#sent) : this.#sent++;
    const isUpdate = number % 3 === 0;
    const what = isUpdate ? "update" : "signal";
    const target = { kind: "run", namespace: "default", runId } as const;
    await this.askOne(`${what} ${number} to ${runId}`, {
      target,
      command: {
        kind: "SendSignal",
        ...(isUpdate ? { isUpdate } : {}),
        name: `${what}${number % 2}`,
        payload: payload(number),
        requestId: `q${number}`,
        expectedVersion: undefined,
      },
    });
    if (isUpdate) await this.#ask(target, `q${number}`);
  }

  /** Looks at the answer to an update: once one was told, nothing else is. */
  async #ask(target: RunTarget, updateId: string): Promise<void> {
    const id = `${target.runId} ${updateId}`;
    const { value: told } = await this.call<string>(`for the answer to ${id}`, (reply) => {
      this.world.host.deliver((kernel) => {
        const read = kernel.view(target, (run) => answerText(findUpdate(run, updateId)));
        read.then(reply, (error: unknown) => {
          // A kernel that went away is asked again.
          if (error instanceof RejectionError) reply("");
          else this.world.note(`${id}: ${String(error)}`);
        });
      });
    });
    const before = this.answers.get(id);
    if (before !== undefined && before !== told) {
      this.world.complain(`update ${id} was answered ${before}, and later ${told}`);
    }
    if (told !== "") this.answers.set(id, told);
  }

  async #look(): Promise<readonly SeenInput[]> {
    const { value } = await this.call<readonly SeenInput[]>("for questions", (reply) => {
      this.world.host.deliver((kernel) => {
        const filter = { namespace: "default", addressee: undefined };
        kernel
          .listInputs(filter, { size: 50, token: "" }, (run, runNumber, input) => ({
            ...{ runNumber, input },
            incarnation: run.incarnation,
            version: run.inputs[input]?.version ?? 0,
            isOpen: run.inputs[input]?.status === InputStatus.OPEN,
          }))
          .then(
            ({ items }) => {
              if (items.some(({ isOpen }) => !isOpen)) {
                this.world.complain("a question is listed that is not open");
              }
              reply(items);
            },
            // The kernel went away meanwhile; it is asked again.
            (error: unknown) => this.world.note(`questions: ${String(error)}`),
          );
      });
    });
    return value;
  }

  async #answer({ runNumber, incarnation, input, version }: SeenInput): Promise<void> {
    const declines = this.#parts.prng.chance(0.3);
    await this.askOne(`answer ${runNumber}-${input}`, {
      target: { kind: "number", number: runNumber },
      command: {
        kind: "ProvideInput",
        incarnation,
        input,
        expectedVersion: version,
        answer: declines
          ? { case: "declined", value: "no" }
          : { case: "given", value: payload(runNumber) },
      },
    });
  }
}

import type { Command } from "@pawl/server/core/command.js";
import type { Run, Task } from "@pawl/server/core/state.js";
import type { Answer } from "./answers.js";
import { Caller, type World } from "./caller.js";
import type { StartOrder } from "./client.js";
import type { Process } from "./process.js";

/** What happens in a room on purpose: it waits for moments, and acts at them. */
export type Scene = (director: Director) => Promise<void>;

/** What a director is made of. */
export interface DirectorParts {
  readonly world: World;
  readonly process: Process;
  /** A run as the durable log tells it. */
  readonly find: (runId: string) => Run | undefined;
  /** The start of a run. */
  readonly order: (runId: string) => StartOrder | undefined;
  /** Undefined: nothing happens on purpose. */
  readonly scene: Scene | undefined;
}

/** How often it looks, in ms of virtual time. */
const lookEveryMs = 20;

/** Brings moments about that chance seldom does: whatever dies meanwhile, a scene goes on to its end. */
export class Director extends Caller {
  readonly #parts: DirectorParts;
  #isDone = false;

  constructor(parts: DirectorParts) {
    super(parts.world, parts.process);
    this.#parts = parts;
  }

  /** True when its scene is over. */
  get isDone(): boolean {
    return this.#isDone || this.#parts.scene === undefined;
  }

  /** Begins its scene. */
  begin(): void {
    this.process.begin();
    this.#parts.scene?.(this).then(
      () => {
        this.#isDone = true;
      },
      (error: unknown) => this.world.complain(`the scene fails: ${String(error)}`),
    );
  }

  /** Resolves when a run is so, by the durable log. */
  async until(runId: string, isSo: (run: Run) => boolean): Promise<Run> {
    for (;;) {
      const run = this.#parts.find(runId);
      if (run !== undefined && isSo(run)) {
        return run;
      }
      await this.process.wait(lookEveryMs);
    }
  }

  /** Resolves when a task of an incarnation is so. */
  async untilTask(
    runId: string,
    { task, incarnation }: { readonly task: number; readonly incarnation: number },
    isSo: (task: Task) => boolean,
  ): Promise<Task> {
    for (;;) {
      const run = await this.until(runId, (it) => it.incarnation === incarnation);
      const found = run.tasks[task];
      if (found !== undefined && isSo(found)) {
        return { ...found }; // As it is now: the state goes on.
      }
      await this.process.wait(lookEveryMs);
    }
  }

  /** Sends a command, and the same again when it is answered: then it must change nothing. */
  async twice(runId: string, command: Command): Promise<void> {
    for (const time of ["once", "again"]) {
      const answer = await this.#ask(runId, command, time);
      if (command.kind === "ResumeRun" && isOver(answer)) {
        continue; // What goes on may have come to its end meanwhile; so may what is paused, by the reports of what was under way.
      }
      if (!answer.accepted || (time === "again" && !answer.existing)) {
        const said = answer.accepted ? "accepted" : `${answer.reason}: ${answer.message}`;
        this.world.complain(`${command.kind} of ${runId}, ${time}, was ${said}`);
      }
    }
  }

  /** Sends a command that must be refused. */
  async refused(runId: string, command: Command, reason: string): Promise<void> {
    const answer = await this.#ask(runId, command, `to be refused as ${reason}`);
    if (answer.accepted || answer.reason !== reason) {
      const said = answer.accepted ? "accepted" : `refused as ${answer.reason}`;
      this.world.complain(`${command.kind} of ${runId} was ${said}, not refused as ${reason}`);
    }
  }

  /** The start of a run, changed. */
  startOf(runId: string, parts: Partial<StartOrder["command"]>): StartOrder["command"] {
    const order = this.#parts.order(runId);
    if (order === undefined) {
      throw new Error(`expected ${runId} to be started`);
    }
    return { ...order.command, ...parts };
  }

  #ask(runId: string, command: Command, time: string): Promise<Answer> {
    const target = { kind: "run", namespace: "default", runId } as const;
    return this.askOne(`${command.kind} of ${runId}, ${time}`, { target, command });
  }
}

function isOver(answer: Answer): boolean {
  return !answer.accepted && answer.reason === "PAWL_RUN_OVER";
}

import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { TaskChangeOrder } from "@pawl/server/core/command.js";
import { taskVersion } from "@pawl/server/core/state.js";
import { isTaskClosed } from "@pawl/server/core/transitions.js";
import { payload } from "../../core/support/values.js";
import { Caller, type World } from "./caller.js";
import { fingerprintOf } from "./contents.js";
import type { Prng } from "./prng.js";
import type { Process } from "./process.js";

/** What an operator is made of. */
export interface OperatorParts {
  readonly world: World;
  readonly process: Process;
  readonly prng: Prng;
  /** Mean time between two pauses, in ms. 0: never. */
  readonly pauseEveryMs: number;
  /** Runs that were started. */
  readonly runIds: () => readonly string[];
  /** True once everything is left to heal: then nothing is paused any more. */
  readonly isOver: () => boolean;
}

/** A run as an operator sees it. */
interface SeenRun {
  readonly status: RunStatus;
  readonly version: number;
  readonly tasks: readonly {
    readonly number: number;
    readonly status: TaskStatus;
    readonly version: number;
  }[];
}

/** Pauses runs and lets them go on after a while, with the versions it has seen. */
export class Operator extends Caller {
  readonly #parts: OperatorParts;

  constructor(parts: OperatorParts) {
    super(parts.world, parts.process);
    this.#parts = parts;
  }

  /** Begins to interfere, again and again. */
  begin(): void {
    this.process.begin();
    this.#work().catch((error: unknown) => {
      this.world.complain(`the operator fails: ${String(error)}`);
    });
  }

  async #work(): Promise<void> {
    const { prng, pauseEveryMs, runIds, isOver } = this.#parts;
    while (pauseEveryMs > 0) {
      await this.process.wait(prng.around(pauseEveryMs));
      const all = runIds();
      for (const runId of isOver() ? all : all.filter(() => prng.chance(0.5))) {
        await this.#lookAt(runId);
      }
    }
  }

  async #lookAt(runId: string): Promise<void> {
    const { prng, isOver } = this.#parts;
    const run = await this.#see(runId);
    const isWaiting = run.tasks.some(({ status }) => status === TaskStatus.BACKOFF);
    if (!isOver() && prng.chance(isWaiting ? 0.6 : 0.15)) {
      await this.#change(runId, run);
    }
    if (run.status === RunStatus.PAUSED) {
      await this.#order(runId, "ResumeRun", run.version);
    } else if (run.status === RunStatus.RUNNING && !isOver()) {
      await this.#order(runId, "PauseRun", run.version);
    }
  }

  async #see(runId: string): Promise<SeenRun> {
    const { value } = await this.call<SeenRun>(`to see ${runId}`, (reply) => {
      this.world.host.deliver((kernel) => {
        kernel
          .view(
            { kind: "run", namespace: "default", runId },
            ({ status, version, tasks, begunAtEvent }) => ({
              ...{ status, version },
              tasks: tasks.map((task) => ({
                number: task.number,
                status: task.status,
                version: taskVersion({ begunAtEvent }, task),
              })),
            }),
          )
          .then(reply, (error: unknown) => this.world.note(`${runId} unseen: ${String(error)}`));
      });
    });
    return value;
  }

  /** Interferes with a task as it was seen; that it is another by now, or allows no such thing, is refused. */
  async #change(runId: string, { tasks }: SeenRun): Promise<void> {
    const { prng } = this.#parts;
    const open = tasks.filter(({ status }) => !isTaskClosed(status));
    if (open.length === 0) {
      return;
    }
    // A task in backoff is what one steps in for first: it is seldom seen, and soon ready again.
    const waiting = open.find(({ status }) => status === TaskStatus.BACKOFF);
    const task = waiting ?? prng.pick(open);
    const change = prng.pick<TaskChangeOrder>([
      { case: waiting === undefined ? "attemptsReset" : "backoffSkipped" },
      { case: "attemptsReset" },
      { case: "failed" },
      { case: "completed", output: payload("by hand") },
    ]);
    await this.askOne(`${change.case} for task ${task.number} of ${runId}`, {
      target: { kind: "run", namespace: "default", runId },
      command: {
        kind: "ChangeTask",
        task: task.number,
        expectedVersion: task.version,
        reason: "by hand",
        change,
        digest: fingerprintOf(change.case, `${task.version}`),
      },
    });
  }

  async #order(runId: string, kind: "PauseRun" | "ResumeRun", version: number): Promise<void> {
    const expectedVersion = this.#parts.prng.chance(0.5) ? version : undefined;
    const base = { expectedVersion, reason: "look" };
    await this.askOne(`${kind} ${runId}`, {
      target: { kind: "run", namespace: "default", runId },
      command: kind === "PauseRun" ? { kind, ...base, untaken: [] } : { kind, ...base },
    });
  }
}

import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { DependencyOutput } from "@pawl/proto/v1/worker_service_pb.js";
import { DefinitionInvalid } from "../errors.js";
import type { NeededTask } from "../needed-task.js";
import { decodeOutput } from "./decode-output.js";
import { fromFailure } from "./failure.js";

/** What an attempt was given of the tasks that its own needs; each is decoded once. */
export class NeededTasks {
  readonly #given: ReadonlyMap<string, DependencyOutput>;
  readonly #decoded = new Map<string, NeededTask>();
  #outputs: Readonly<Record<string, unknown>> | undefined;

  constructor(given: readonly DependencyOutput[]) {
    this.#given = new Map(given.map((found) => [found.task, found]));
  }

  /** Those that it was given, in the order in which its plan names them. */
  get all(): readonly NeededTask[] {
    return [...this.#given.keys()].map((name) => this.of(name));
  }

  /** Outputs of those that completed, by name. */
  get outputs(): Readonly<Record<string, unknown>> {
    this.#outputs ??= Object.fromEntries(
      this.all.flatMap((need) => (need.status === "ok" ? [[need.task, need.value]] : [])),
    );
    return this.#outputs;
  }

  /** What became of one. */
  of(name: string): NeededTask {
    const known = this.#decoded.get(name);
    if (known !== undefined) {
      return known;
    }
    const given = this.#given.get(name);
    const need = given === undefined ? ({ task: name, status: "missing" } as const) : decode(given);
    this.#decoded.set(name, need);
    return need;
  }

  /**
   * Output of one that must have completed.
   *
   * @param by The task that needs it.
   * @throws DefinitionInvalid
   */
  outputOf(name: string, by: string): unknown {
    const need = this.of(name);
    if (need.status === "ok") {
      return need.value;
    }
    throw new DefinitionInvalid(
      need.status === "missing"
        ? `Expected task "${by}" to be given the output of "${name}", but it was not: its plan does not say that it needs it, or its join was satisfied before. Add it to needs, give the name it has there, or ask ctx.need.`
        : `Expected task "${name}", which "${by}" needs, to have completed, but it ${need.status === "failed" ? "failed" : "was skipped"}. Ask ctx.need, which says how it ended.`,
    );
  }
}

function decode(given: DependencyOutput): NeededTask {
  const { task, status, failure } = given;
  switch (status) {
    case TaskStatus.FAILED:
      return failure === undefined
        ? { task, status: "skipped" }
        : { task, status: "failed", error: fromFailure(failure) };
    case TaskStatus.SKIPPED:
      return { task, status: "skipped" };
    default:
      return { task, status: "ok", value: decodeOutput(given) };
  }
}

import type { ServedTask } from "../task.js";
import { TestKitMisused } from "./errors.js";
import { type History, type Replay, replay, workflowOf } from "./replay.js";

/** What became of a history with one workflow that a module exports. */
export interface ModuleReplay extends Pick<Replay, "fits" | "unvisited" | "next"> {
  /** Its kind: name and version. */
  readonly workflow: string;
  /** The first contradiction; empty: there is none. */
  readonly difference: string;
  /** `returned`, `threw` or `goes on`. */
  readonly end: Replay["end"]["status"];
}

/**
 * Replays a history with every version of its workflow that a module exports. For `pawl replay`.
 *
 * @throws TestKitMisused when it exports none.
 */
export async function replayModule(
  history: History,
  exported: Readonly<Record<string, unknown>>,
): Promise<readonly ModuleReplay[]> {
  const name = await workflowOf(history);
  const served = new Set(Object.values(exported).filter(isWorkflow));
  const fitting = [...served]
    .filter((workflow) => workflow.name === name)
    .sort((one, other) => kindOf(one).localeCompare(kindOf(other), "en", { numeric: true }));
  if (fitting.length === 0) {
    const others = [...served].map((workflow) => `"${workflow.name}"`).join(", ");
    throw new TestKitMisused(
      `Expected the module to export workflow "${name}", of which the history is, but it exports ${others === "" ? "no workflow" : others}. Export it with its code, as .run gives it.`,
    );
  }
  const replays: ModuleReplay[] = [];
  for (const workflow of fitting) {
    const { fits, difference = "", unvisited, next, end } = await replay(history, workflow);
    replays.push({
      workflow: kindOf(workflow),
      fits,
      difference,
      unvisited,
      next,
      end: end.status,
    });
  }
  return replays;
}

function kindOf({ kind, name }: ServedTask): string {
  return kind ?? name;
}

function isWorkflow(value: unknown): value is ServedTask {
  return (
    typeof value === "object" &&
    value !== null &&
    Reflect.get(value, "type") === "task" &&
    Reflect.get(value, "isFunction") === true
  );
}

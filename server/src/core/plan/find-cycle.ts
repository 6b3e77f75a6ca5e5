import type { TaskSpec } from "./task-spec.js";

/**
 * Names of the tasks of some cycle, the first one repeated at the end, or undefined when the graph has none.
 * Kahn's topological sort (1962) finds whether there is one; what it leaves over holds every cycle.
 */
export function findCycle(tasks: readonly TaskSpec[]): string[] | undefined {
  const open = tasks.map((task) => task.needs.length);
  const ready = tasks.filter((task) => task.needs.length === 0).map((task) => task.number);
  let done = 0;
  for (let next = ready.pop(); next !== undefined; next = ready.pop()) {
    done++;
    for (const dependent of tasks[next]?.dependents ?? []) {
      const left = (open[dependent] ?? 0) - 1;
      open[dependent] = left;
      if (left === 0) {
        ready.push(dependent);
      }
    }
  }
  return done === tasks.length ? undefined : walkBack(tasks, open);
}

/** Every task that is left needs one that is left: walking those back must meet itself. */
function walkBack(tasks: readonly TaskSpec[], open: readonly number[]): string[] {
  const path: number[] = [];
  let at = open.findIndex((left) => left > 0);
  while (!path.includes(at)) {
    path.push(at);
    at = tasks[at]?.needs.find((need) => (open[need] ?? 0) > 0) ?? at;
  }
  const names = [...path.slice(path.indexOf(at)), at].map((number) => tasks[number]?.name ?? "");
  return names.reverse();
}

/**
 * Finds a cycle in a graph by depth-first search with an explicit stack (three-colour marking; Cormen et al.,
 * "Introduction to Algorithms", 20.3).
 *
 * @param needs For each node those it points to.
 * @returns The nodes of one cycle, the first repeated at the end; undefined when there is none.
 */
export function findCycle(needs: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  for (const start of needs.keys()) {
    const cycle = done.has(start) ? undefined : search(start, needs, done);
    if (cycle !== undefined) {
      return cycle;
    }
  }
  return undefined;
}

function search(
  start: string,
  needs: ReadonlyMap<string, readonly string[]>,
  done: Set<string>,
): string[] | undefined {
  const path: string[] = [start];
  const onPath = new Set(path);
  const places = [0];
  while (path.length > 0) {
    const node = path[path.length - 1] ?? start;
    const place = places[places.length - 1] ?? 0;
    const next = needs.get(node)?.[place];
    if (next === undefined) {
      done.add(node);
      onPath.delete(node);
      path.pop();
      places.pop();
      continue;
    }
    places[places.length - 1] = place + 1;
    if (onPath.has(next)) {
      return [...path.slice(path.indexOf(next)), next];
    }
    if (!done.has(next)) {
      path.push(next);
      onPath.add(next);
      places.push(0);
    }
  }
  return undefined;
}

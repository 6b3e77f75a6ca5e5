import type { Run } from "./state.js";

/** What is published under a name takes so many bytes; 0 when nothing is. */
export function publishedBytesOf(run: Pick<Run, "steps" | "published">, name: string): number {
  return run.steps[run.published.get(name)?.step ?? -1]?.value?.length ?? 0;
}

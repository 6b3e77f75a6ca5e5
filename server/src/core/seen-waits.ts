import type { Run } from "./state.js";

/**
 * True when the code was given what ended a wait.
 *
 * @param seenThrough up to which event of its run it was given outcomes; undefined: it was given all.
 */
export function wasSeen(
  { waits }: Pick<Run, "waits">,
  wait: number,
  seenThrough: number | undefined,
): boolean {
  return seenThrough === undefined || (waits[wait]?.endedEvent ?? 0) <= seenThrough;
}

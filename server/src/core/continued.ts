import type { Run, Task } from "./state.js";

/** The input that a run was started with, which its fingerprint is of; also when its function has gone on with another one since. */
export function originalInput({
  input,
  continued,
}: Pick<Run, "input" | "continued">): Uint8Array | undefined {
  return continued === undefined ? input : continued.startInput;
}

/** True for the lease under which the run's function began the present incarnation. */
export function wasContinuedBy(
  { continued }: Pick<Run, "continued">,
  { number }: Pick<Task, "number">,
  leaseVersion: number,
): boolean {
  return number === 0 && continued?.leaseVersion === leaseVersion;
}

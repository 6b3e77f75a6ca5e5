import type { Task } from "./state.js";

/** True for a call that ends with its caller: one that was asked to stop keeps its grace, and one that was let go goes on. */
export function endsWithCaller(called: Pick<Task, "stop" | "abandoned"> | undefined): boolean {
  return called !== undefined && called.stop === undefined && !called.abandoned;
}

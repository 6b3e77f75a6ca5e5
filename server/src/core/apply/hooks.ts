import type { MutableRun } from "../state.js";

/**
 * What applying an event tells its caller besides the changed state: things that live outside the state (ready queues,
 * armed deadlines, the table of leases) follow from it. A replay passes `silentHooks`.
 */
export interface ApplyHooks {
  /** The task became READY. */
  taskReady(run: MutableRun, task: number): void;
  /** Something from which the task's next deadline follows has changed. */
  taskMoved(run: MutableRun, task: number): void;
  /** The lease of this version is over; `cause` is the word of `pawl.v1.LostLease`, empty when the worker itself reported. */
  leaseOver(run: MutableRun, task: number, cause: string): void;
  /** The leased task should stop: its run was asked to, or its caller wants it. */
  cancelAsked(run: MutableRun, task: number, reason: string): void;
  /** Something ended for a leased task: its worker may be told. */
  outcomeCame(run: MutableRun, task: number): void;
  /** A proposal was made or moved: when the next one is over may be another time now. */
  proposalMoved(run: MutableRun, proposal: number): void;
  /** The run owes another one something, or may pay it now. */
  obliged(run: MutableRun, obligation: number): void;
  /** When the run is ended if it is still open may be another time now. */
  deadlineMoved(run: MutableRun): void;
  /** The run ended. */
  runClosed(run: MutableRun): void;
}

function ignore(): void {}

/** Hooks that do nothing. */
export const silentHooks: ApplyHooks = {
  taskReady: ignore,
  taskMoved: ignore,
  leaseOver: ignore,
  cancelAsked: ignore,
  outcomeCame: ignore,
  proposalMoved: ignore,
  obliged: ignore,
  deadlineMoved: ignore,
  runClosed: ignore,
};

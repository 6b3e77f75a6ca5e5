import type { SinkMode } from "../ticket-service/client.js";

/** How a child asks a person before the effect. */
export interface ApprovalSettings {
  /** How many must approve. */
  readonly need: number;
  /** Whether whoever proposed it may be one of them: without tokens there is nobody else. */
  readonly requesterMayDecide: boolean;
  /** For how long the proposal may be decided and used. */
  readonly expiresIn: "1h" | "5s";
  /** Stands still as soon as it was told of the approval, so that it can be killed there. */
  readonly stopsWhenApproved: boolean;
  /** What this process adds to the title: the world may have changed since the content was shown. */
  readonly suffix: string;
}

/** How the function that merges goes on. */
export interface MergeSettings {
  /** How many results are enough. */
  readonly atLeast: number;
  /** Stands still in the merge, so that it can be killed there. */
  readonly stopsInMerge: boolean;
}

/** What a worker serves: the tasks of the plan, or only its effect; the function that merges, or the tasks that it calls. */
export type Serves = "all" | "effect" | "gather" | "look";

/** What a child of the demo is told, in its environment. */
export interface ChildSettings {
  readonly mode: SinkMode;
  /** When it does not serve the task that comes after the effect, the run stays open. */
  readonly serves: Serves;
  /** Undefined: the effect needs no approval. */
  readonly approval: ApprovalSettings | undefined;
  readonly merge: MergeSettings;
}

/** Reads the settings of this process. */
export function readChildSettings(): ChildSettings {
  const { DEMO_SINK: mode, DEMO_SERVES: serves } = process.env;
  const { DEMO_APPROVAL: approval = "", DEMO_MERGE: merge = "" } = process.env;
  if (mode !== "idempotent" && mode !== "reconcilable" && mode !== "opaque") {
    throw new Error(`expected DEMO_SINK to be a kind of sink, but it is ${mode}; use npm run demo`);
  }
  return {
    mode,
    serves: serves === "all" || serves === "gather" || serves === "look" ? serves : "effect",
    // Written by the demo itself, a moment ago.
    approval: approval === "" ? undefined : JSON.parse(approval),
    merge: merge === "" ? { atLeast: 3, stopsInMerge: false } : JSON.parse(merge),
  };
}

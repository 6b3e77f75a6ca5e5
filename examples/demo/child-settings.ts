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

/** What a child of the demo is told, in its environment. */
export interface ChildSettings {
  readonly mode: SinkMode;
  /** Whether it serves the task that comes after the effect; when not, the run stays open. */
  readonly servesAll: boolean;
  /** Undefined: the effect needs no approval. */
  readonly approval: ApprovalSettings | undefined;
}

/** Reads the settings of this process. */
export function readChildSettings(): ChildSettings {
  const { DEMO_SINK: mode, DEMO_SERVES: serves, DEMO_APPROVAL: approval = "" } = process.env;
  if (mode !== "idempotent" && mode !== "reconcilable" && mode !== "opaque") {
    throw new Error(`expected DEMO_SINK to be a kind of sink, but it is ${mode}; use npm run demo`);
  }
  return {
    mode,
    servesAll: serves === "all",
    // Written by the demo itself, a moment ago.
    approval: approval === "" ? undefined : JSON.parse(approval),
  };
}

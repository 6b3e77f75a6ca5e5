import type { SinkMode } from "../ticket-service/client.js";

/** What a child of the demo is told, in its environment. */
export interface ChildSettings {
  readonly mode: SinkMode;
  /** Whether it serves the task that comes after the effect; when not, the run stays open. */
  readonly servesAll: boolean;
}

/** Reads the settings of this process. */
export function readChildSettings(): ChildSettings {
  const { DEMO_SINK: mode, DEMO_SERVES: serves } = process.env;
  if (mode !== "idempotent" && mode !== "reconcilable" && mode !== "opaque") {
    throw new Error(`expected DEMO_SINK to be a kind of sink, but it is ${mode}; use npm run demo`);
  }
  return { mode, servesAll: serves === "all" };
}

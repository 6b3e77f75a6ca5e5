/** Commands about what a run owes another one. */

import type { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import type { TaskRef } from "./task-commands.js";

/** What another run is asked to do. */
export type ObligationOrder =
  | {
      readonly case: "signal";
      readonly signal: string;
      readonly payload: Uint8Array | undefined;
    }
  | { readonly case: "cancel"; readonly reason: string };

/** Records that the run owes another one something. */
export interface MakeObligation {
  readonly kind: "MakeObligation";
  readonly task: TaskRef;
  readonly leaseVersion: number;
  readonly name: string;
  readonly key: string | undefined;
  /** The receiver, in the namespace of the run. */
  readonly runId: string;
  readonly order: ObligationOrder;
  readonly seenThrough: number;
}

/** Records what the receiver of an obligation answered. Made by the kernel alone. */
export interface SettleObligation {
  readonly kind: "SettleObligation";
  readonly obligation: number;
  /** Not OPEN. */
  readonly status: ObligationStatus;
}

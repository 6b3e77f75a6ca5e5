/** Commands about what a run owes another one. */

import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import type { ObligationStatus, ParentClose } from "@pawl/proto/v1/obligation_pb.js";
import type { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { VersionChoiceShape } from "@pawl/proto/v1/version_wire.js";
import type { TaskRef } from "./task-commands.js";

/** What another run is asked to do. */
export type ObligationOrder =
  | {
      readonly case: "signal";
      readonly signal: string;
      readonly payload: Uint8Array | undefined;
    }
  | { readonly case: "cancel"; readonly reason: string }
  | {
      readonly case: "child";
      readonly workflow: string;
      readonly plan: Uint8Array;
      readonly input: Uint8Array | undefined;
      /** Fingerprint of the start. */
      readonly fingerprint: Uint8Array;
      readonly parentClose: ParentClose;
      /** How long it may take, in ms. 0: as long as its parent. */
      readonly runTimeoutMs: number;
      /** Asks for the current version of its workflow; undefined: the plan says which one. */
      readonly versionChoice?: VersionChoiceShape | undefined;
    };

/** Records that the run owes another one something. */
export interface MakeObligation {
  readonly kind: "MakeObligation";
  readonly task: TaskRef;
  readonly leaseVersion: number;
  readonly name: string;
  readonly key: string | undefined;
  /** The receiver, in the namespace of the run. Of a child empty: its id follows from its name. */
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

/** Records how a child of the run ended. Made by the kernel alone. */
export interface EndChild {
  readonly kind: "EndChild";
  /** The obligation that started it. */
  readonly obligation: number;
  readonly childRunId: string;
  readonly status: RunStatus;
  readonly output: Uint8Array | undefined;
  readonly failure: FailureShape | undefined;
}

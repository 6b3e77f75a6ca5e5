import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import type { Offer } from "@pawl/proto/v1/worker_service_pb.js";
import type { Schema } from "../schema.js";
import type { AttemptPort } from "./attempt-port.js";
import type { AttemptState } from "./attempt-state.js";
import type { Lease } from "./lease.js";
import type { Ledger } from "./perform.js";
import type { Suspension } from "./waits.js";

/** What a context is made of. */
export interface AttemptContextOptions {
  /** The offer, with everything that was stored apart brought in. */
  readonly offer: Offer;
  readonly lease: Lease;
  readonly state: AttemptState;
  readonly port: AttemptPort;
  readonly ledger: Ledger;
  /** Brings in content that is stored apart. */
  readonly load: (payload: Payload | undefined) => Promise<Payload | undefined>;
  /** Called once, when the attempt is to be given back. */
  readonly onSuspend: (suspension: Suspension) => void;
  /** Called once, when the run goes on as another incarnation. */
  readonly onContinued: () => void;
  /** What checks an input of the task; undefined: nothing does. */
  readonly inputSchema: Schema<unknown, unknown> | undefined;
  /** True when the task may end without having reached all that is recorded of it. */
  readonly allowsUnvisited: boolean;
}

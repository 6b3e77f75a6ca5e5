import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import type { ObligationAnswerShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { Run } from "../../core/state.js";

/** `pawl.v1.ObligationAnswer` of an obligation of the run: where it stands now. */
export function obligationAnswer(run: Run, obligation: number): ObligationAnswerShape {
  const found = run.obligations[obligation];
  const status = found?.status ?? ObligationStatus.UNSPECIFIED;
  return { obligation, status, runId: found?.declaration.runId ?? "" };
}

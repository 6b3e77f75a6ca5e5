import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { LegalHoldShape } from "@pawl/proto/log/v1/event_wire.js";
import type { LegalHoldSchema } from "@pawl/proto/v1/retention_pb.js";

/** `pawl.v1.LegalHold` of what is held. */
export function legalHoldView({
  atMs,
  reason,
  principal,
}: LegalHoldShape): MessageInitShape<typeof LegalHoldSchema> {
  return { at: timestampFromMs(atMs), reason, principal };
}

import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { RecoveryLineSchema, RecoveryProofSchema } from "@pawl/proto/v1/recovery_pb.js";
import type { RecoveryReportLine } from "../../core/view/recovery-report.js";
import type { EventProof } from "../../kernel/storage/event-proofs.js";

/** A line of a report as it is sent; `proof` is where the log holds its `proofEvent`. */
export function recoveryLineView(
  line: RecoveryReportLine,
  proof: EventProof | undefined,
): MessageInitShape<typeof RecoveryLineSchema> {
  const { class: kind, task, operationKey, sentence, attemptsUsed, attemptsMax } = line;
  return {
    ...{ class: kind, task, operationKey, sentence, attemptsUsed, attemptsMax },
    eventNumbers: [...line.eventNumbers],
    ...timeField("firstReadyAt", line.firstReadyAtMs),
    ...timeField("lastLeasedAt", line.lastLeasedAtMs),
    ...timeField("endedAt", line.endedAtMs),
    ...timeField("observedAt", line.observedAtMs),
    ...(proof === undefined ? {} : { proof: proofView(line.proofEvent, proof) }),
  };
}

function timeField<K extends string>(name: K, atMs: number): Partial<Record<K, Timestamp>> {
  const field: Partial<Record<K, Timestamp>> = {};
  if (atMs > 0) {
    field[name] = timestampFromMs(atMs);
  }
  return field;
}

function proofView(
  eventNumber: number,
  { sequence, holder }: EventProof,
): MessageInitShape<typeof RecoveryProofSchema> {
  return {
    eventNumber,
    sequence: BigInt(sequence),
    holder:
      holder.case === "segment"
        ? {
            case: "segment",
            value: { lastSequence: BigInt(holder.lastSequence), hash: holder.hash },
          }
        : { case: "chunk", value: { number: holder.number, hash: holder.hash } },
  };
}

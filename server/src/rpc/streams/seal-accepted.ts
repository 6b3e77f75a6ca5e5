import type { WireWriter } from "@pawl/proto/wire/writer.js";

/** Writes the correlations of accepted items as one packed field, and empties them. */
export function sealAccepted(writer: WireWriter, tag: number, accepted: number[]): void {
  if (accepted.length === 0) {
    return;
  }
  writer.tag(tag);
  const at = writer.begin();
  for (const correlation of accepted) {
    writer.varint32(correlation);
  }
  writer.end(at);
  accepted.length = 0;
}

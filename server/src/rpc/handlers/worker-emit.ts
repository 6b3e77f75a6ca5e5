import { type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import type {
  EmitItem,
  EmitOutputRequest,
  EmitOutputResponseSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import { limits } from "../../core/limits.js";
import type { EmittedChunk } from "../../kernel/output/output-entry.js";
import type { Edge } from "../edge.js";
import { readChunk } from "../output-chunk.js";
import { requireCount } from "../validate/fields.js";
import { leaseOfRequest } from "./requests.js";

/** Gives live output to whoever reads it, and renews the lease. Memory only. */
export async function emitOutput(
  edge: Edge,
  request: EmitOutputRequest,
): Promise<MessageInitShape<typeof EmitOutputResponseSchema>> {
  const { target, task, leaseVersion } = leaseOfRequest(request);
  requireCount(request.chunks.length, "chunks", limits.batchItemsMax);
  const chunks = request.chunks.map(chunkOf);
  return await edge.kernel.emitOutput(target, task, { leaseVersion, chunks });
}

function chunkOf(item: EmitItem, index: number): EmittedChunk {
  const payload = item.payload === undefined ? undefined : toBinary(PayloadSchema, item.payload);
  return readChunk({ ...item, payload }, `chunks[${index}].`);
}

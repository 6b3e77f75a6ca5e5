import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { limits } from "../../core/limits.js";
import type { Edge } from "../edge.js";
import { protocolVersion, workFeatures } from "../streams/work-hello.js";
import type { ServiceHandlers } from "./handler.js";

/** Handlers of AdminService. */
export function adminHandlers(edge: Edge): ServiceHandlers<typeof AdminService> {
  return {
    getServerInfo: async () => {
      const info = edge.kernel.info();
      return {
        version: edge.version,
        protocolVersion,
        storeId: info.storeId,
        storeEpoch: info.storeEpoch,
        readyAt: timestampFromMs(info.readyAtMs),
        now: timestampFromMs(info.nowMs),
        limits: {
          messageBytesMax: limits.messageBytesMax,
          inlineBytesMax: limits.inlineBytesMax,
          planBytesMax: limits.planBytesMax,
          planTasksMax: limits.planTasksMax,
          idBytesMax: limits.idBytesMax,
          batchItemsMax: limits.batchItemsMax,
        },
        features: [...workFeatures],
        durableSequence: BigInt(info.durableSequence),
        horizonSequence: BigInt(info.horizonSequence),
        residentRuns: info.residentRuns,
        diskLow: info.isDiskLow,
        openWorkKnown: info.isOpenWorkKnown,
        readOnlyReason: info.readOnlyReason,
      };
    },
  };
}

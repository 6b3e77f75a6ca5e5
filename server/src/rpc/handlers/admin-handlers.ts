import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { AdminService, ScrubStatusSchema } from "@pawl/proto/v1/admin_service_pb.js";
import type { LogStatusSchema } from "@pawl/proto/v1/log_status_pb.js";
import { limits } from "../../core/limits.js";
import type { LogStatus } from "../../kernel/kernel-api.js";
import type { ScrubStatus } from "../../kernel/storage/scrubber.js";
import type { Edge } from "../edge.js";
import { cutText } from "../rejection-shape.js";
import { protocolVersion, workFeatures } from "../streams/work-hello.js";
import { getCredentialPolicy, setCredentialPolicy } from "./admin-credentials.js";
import { createNamespace, listNamespaces } from "./admin-namespaces.js";
import { getRetention, setLegalHold, setRetention } from "./admin-retention.js";
import { getStartReport, listStarts } from "./admin-starts.js";
import {
  getCurrentVersion,
  listCurrentVersions,
  removeCurrentVersion,
  setCurrentVersion,
} from "./admin-versions.js";
import type { ServiceHandlers } from "./handler.js";

/** Handlers of AdminService. */
export function adminHandlers(edge: Edge): ServiceHandlers<typeof AdminService> {
  return {
    getServerInfo: async (_request, call) => {
      const info = edge.kernel.info();
      const isWhole = edge.gate.seesWhole(call.credential);
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
        scrub: scrubView(info.scrub, isWhole),
        setAsideRuns: isWhole ? info.setAsideRuns.map(BigInt) : [],
        log: logView(info.log, await edge.kernel.storeBytes()),
      };
    },
    createNamespace: (request, call) => createNamespace(edge, request, call),
    listNamespaces: (request, call) => listNamespaces(edge, request, call),
    setCurrentVersion: (request, call) => setCurrentVersion(edge, request, call),
    removeCurrentVersion: (request, call) => removeCurrentVersion(edge, request, call),
    getCurrentVersion: (request) => getCurrentVersion(edge, request),
    listCurrentVersions: (request) => listCurrentVersions(edge, request),
    setCredentialPolicy: (request, call) => setCredentialPolicy(edge, request, call),
    getCredentialPolicy: (request) => getCredentialPolicy(edge, request),
    getRetention: (request) => getRetention(edge, request),
    setRetention: (request, call) => setRetention(edge, request, call),
    setLegalHold: (request, call) => setLegalHold(edge, request, call),
    listStarts: () => listStarts(edge),
    getStartReport: (request, call) => getStartReport(edge, request, call),
  };
}

function logView(
  { anchor, bytes, retention, compact }: LogStatus,
  storeBytes: number,
): MessageInitShape<typeof LogStatusSchema> {
  return {
    trimmedSequence: BigInt(anchor.sequence),
    anchorHash: anchor.hash,
    logBytes: BigInt(bytes),
    retentionBytes: BigInt(retention.bytes),
    retention: durationFromMs(retention.ms),
    storeBytes: BigInt(storeBytes),
    waitingBytes: BigInt(compact.waitingBytes),
    compactions: compact.rounds,
  };
}

/** @param isWhole whether the caller may know of runs of every namespace, which findings may name. */
function scrubView(
  { rounds, lastRoundAtMs, bytes, findings }: ScrubStatus,
  isWhole: boolean,
): MessageInitShape<typeof ScrubStatusSchema> {
  return {
    rounds,
    ...(lastRoundAtMs === 0 ? {} : { lastRoundAt: timestampFromMs(lastRoundAtMs) }),
    bytes: BigInt(bytes),
    findingCount: findings.length,
    findings: (isWhole ? findings : []).map(
      ({ stage, message, runNumber, firstBadSequence, key, foundAtMs }) => ({
        ...{ stage, key, message: cutText(message) },
        runNumber: BigInt(runNumber),
        firstBadSequence: BigInt(firstBadSequence),
        foundAt: timestampFromMs(foundAtMs),
      }),
    ),
  };
}

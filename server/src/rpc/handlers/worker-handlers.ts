import type { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import type { Edge } from "../edge.js";
import type { ServiceHandlers } from "./handler.js";
import { proposeRevision } from "./plan-revise.js";
import { callTasks } from "./worker-call.js";
import { claimTasks } from "./worker-claim.js";
import { emitOutput } from "./worker-emit.js";
import { recordObligations, startChildren } from "./worker-obligations.js";
import { getRecords } from "./worker-records.js";
import { releaseTask, renewLeases, reportOutputs, reportProgress } from "./worker-report.js";
import { recordSteps } from "./worker-steps.js";
import { declareWaits, suspendTask } from "./worker-suspend.js";

/** Handlers of WorkerService; Work is served on bytes. */
export function workerHandlers(edge: Edge): ServiceHandlers<typeof WorkerService, "work"> {
  return {
    claimTasks: (request, call) => claimTasks(edge, request, call),
    reportOutputs: (request, call) => reportOutputs(edge, request, call),
    renewLeases: (request) => renewLeases(edge, request),
    recordSteps: (request, call) => recordSteps(edge, request, call),
    startChildren: (request, call) => startChildren(edge, request, call),
    recordObligations: (request, call) => recordObligations(edge, request, call),
    getRecords: (request) => getRecords(edge, request),
    callTasks: (request, call) => callTasks(edge, request, call),
    proposeRevision: (request, call) => proposeRevision(edge, request, call),
    declareWaits: (request, call) => declareWaits(edge, request, call),
    suspend: (request, call) => suspendTask(edge, request, call),
    releaseTask: (request, call) => releaseTask(edge, request, call),
    reportProgress: (request) => reportProgress(edge, request),
    emitOutput: (request) => emitOutput(edge, request),
  };
}

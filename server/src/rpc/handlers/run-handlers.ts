import type { RunService } from "@pawl/proto/v1/run_service_pb.js";
import type { Edge } from "../edge.js";
import type { ServiceHandlers } from "./handler.js";
import { diffPlans, getPlan, listPlanVersions } from "./plan-read.js";
import { revisePlan } from "./plan-revise.js";
import { deleteRun } from "./run-delete.js";
import { cancelRun, terminateRun } from "./run-end.js";
import { exportRuns } from "./run-export.js";
import { getHistory, readBlob } from "./run-history.js";
import { getInput, listInputs, provideInput } from "./run-input.js";
import { readOutput } from "./run-output.js";
import { pauseRun, resumeRun } from "./run-pause.js";
import { listQueries, queryRun } from "./run-query.js";
import { getRun, getTask, listRuns, listTasks } from "./run-read.js";
import { getRecoveryReport } from "./run-report.js";
import { retryRun, rewindRun } from "./run-rewind.js";
import { sendSignal } from "./run-signal.js";
import { awaitResults, getResult, startAndAwait, startRuns } from "./run-start.js";
import { changeTask } from "./run-task.js";
import { getUpdate, updateRun } from "./run-update.js";
import { watchRun, watchRuns } from "./run-watch.js";

/** Handlers of RunService; Submit is served on bytes. */
export function runHandlers(edge: Edge): ServiceHandlers<typeof RunService, "submit"> {
  return {
    startRuns: (request, call) => startRuns(edge, request, call),
    startAndAwait: (request, call) => startAndAwait(edge, request, call),
    getRun: (request) => getRun(edge, request),
    listRuns: (request) => listRuns(edge, request),
    getTask: (request) => getTask(edge, request),
    listTasks: (request) => listTasks(edge, request),
    getResult: (request, call) => getResult(edge, request, call),
    awaitResults: (request, call) => awaitResults(edge, request, call),
    watchRun: (request, call) => watchRun(edge, request, call),
    watchRuns: (request, call) => watchRuns(edge, request, call),
    changeTask: (request, call) => changeTask(edge, request, call),
    pauseRun: (request, call) => pauseRun(edge, request, call),
    resumeRun: (request, call) => resumeRun(edge, request, call),
    rewindRun: (request, call) => rewindRun(edge, request, call),
    retryRun: (request, call) => retryRun(edge, request, call),
    cancelRun: (request, call) => cancelRun(edge, request, call),
    deleteRun: (request, call) => deleteRun(edge, request, call),
    terminateRun: (request, call) => terminateRun(edge, request, call),
    revisePlan: (request, call) => revisePlan(edge, request, call),
    getPlan: (request) => getPlan(edge, request),
    listPlanVersions: (request) => listPlanVersions(edge, request),
    diffPlans: (request) => diffPlans(edge, request),
    getHistory: (request, call) => getHistory(edge, request, call),
    exportRuns: (request, call) => exportRuns(edge, request, call),
    getRecoveryReport: (request, call) => getRecoveryReport(edge, request, call),
    sendSignal: (request, call) => sendSignal(edge, request, call),
    updateRun: (request, call) => updateRun(edge, request, call),
    getUpdate: (request, call) => getUpdate(edge, request, call),
    queryRun: (request) => queryRun(edge, request),
    listQueries: (request) => listQueries(edge, request),
    provideInput: (request, call) => provideInput(edge, request, call),
    getInput: (request) => getInput(edge, request),
    listInputs: (request) => listInputs(edge, request),
    readOutput: (request, call) => readOutput(edge, request, call),
    readBlob: (request, call) => readBlob(edge, request, call),
  };
}

import { type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import {
  type ReleaseTaskRequest,
  type ReleaseTaskResponseSchema,
  type RenewLeasesRequest,
  type RenewLeasesResponseSchema,
  type ReportItem,
  ReportItemSchema,
  type ReportOutputsRequest,
  type ReportOutputsResponseSchema,
  type ReportProgressRequest,
  type ReportProgressResponseSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import { decodeReportItem } from "@pawl/proto/v1/worker_service_wire.js";
import { limits } from "../../core/limits.js";
import type { Rejection } from "../../core/rejection.js";
import { admit } from "../admission.js";
import { executeAll, executeOne, type Order } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import {
  contentOfReport,
  pathOfContent,
  releaseCommand,
  reportCommand,
} from "../commands/report.js";
import type { Edge } from "../edge.js";
import { rejectionOf } from "../fault.js";
import { scanPayload } from "../payload-scan.js";
import { badField, internalFault } from "../refusals.js";
import { readDurationMs, readNamespace, requireCount, requirePresent } from "../validate/fields.js";
import { rejectionMessage } from "../views/rejection-view.js";
import { leaseOf, standingOf } from "./requests.js";

/** Reports ends of attempts: one result each, in order. */
export async function reportOutputs(
  edge: Edge,
  request: ReportOutputsRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof ReportOutputsResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  requireCount(request.reports.length, "reports", limits.batchItemsMax);
  const orders = await Promise.all(
    request.reports.map((report) => reportOrder(edge, report, namespace)),
  );
  const { value, position } = await executeAll(edge, orders, call.caller, (outcome, index) => {
    const correlation = request.reports[index]?.correlation ?? 0;
    return outcome.accepted
      ? { correlation, existing: outcome.reply.existing }
      : { correlation, rejection: rejectionMessage(outcome.rejection) };
  });
  return { results: value, position };
}

async function reportOrder(
  edge: Edge,
  report: ReportItem,
  namespace: string,
): Promise<Order | Rejection> {
  try {
    edge.screen.requireClean(report);
    const item = decodeReportItem(toBinary(ReportItemSchema, report));
    const { target, task } = leaseOf(namespace, item, "");
    reportCommand(item, task); // What is bad is not stored either.
    const content = contentOfReport(item);
    const admitted = await admit(edge, target, content, pathOfContent(item));
    return { target, command: reportCommand(item, task, admitted) };
  } catch (error) {
    return rejectionOf(edge, error, "ReportOutputs") ?? internalFault();
  }
}

/** Renews leases: one result each, in order. Memory only. */
export async function renewLeases(
  edge: Edge,
  request: RenewLeasesRequest,
): Promise<MessageInitShape<typeof RenewLeasesResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  requireCount(request.leases.length, "leases", limits.batchItemsMax);
  const results = await Promise.all(
    request.leases.map(async (lease) => {
      try {
        const { target, task, leaseVersion } = leaseOf(namespace, lease, "");
        return await edge.kernel.renewLease(target, task, leaseVersion);
      } catch (error) {
        const rejection = rejectionOf(edge, error, "RenewLeases") ?? internalFault();
        return { rejection: rejectionMessage(rejection) };
      }
    }),
  );
  return { results };
}

/** Gives a task back. */
export async function releaseTask(
  edge: Edge,
  request: ReleaseTaskRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof ReleaseTaskResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const lease = requirePresent(request.lease, "lease");
  const { target, task, leaseVersion } = leaseOf(namespace, lease, "lease.");
  const delayMs = readDurationMs(request.delay, "delay", limits.backoffMsMax);
  const command = releaseCommand({ leaseVersion, delayMs, reason: request.reason }, task);
  const { value, position } = await executeOne(
    edge,
    { target, command },
    call.caller,
    ({ reply, run }) => ({
      existing: reply.existing,
      version: standingOf(run, task).version,
    }),
  );
  return { ...value, position };
}

/** Keeps progress and renews the lease. Memory only. */
export async function reportProgress(
  edge: Edge,
  request: ReportProgressRequest,
): Promise<MessageInitShape<typeof ReportProgressResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const lease = requirePresent(request.lease, "lease");
  const { target, task, leaseVersion } = leaseOf(namespace, lease, "lease.");
  const progress = toBinary(PayloadSchema, requirePresent(request.progress, "progress"));
  scanPayload(progress, "progress");
  if (progress.length > limits.inlineBytesMax) {
    throw badField(
      "progress",
      `at most ${limits.inlineBytesMax} bytes`,
      `${progress.length} bytes`,
    );
  }
  const renewed = await edge.kernel.reportProgress(target, task, { leaseVersion, progress });
  return { ...renewed, at: timestampFromMs(edge.kernel.info().nowMs) };
}

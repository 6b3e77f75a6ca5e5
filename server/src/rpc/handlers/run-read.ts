import type { MessageInitShape } from "@bufbuild/protobuf";
import { RunSchema, RunStatus, TaskSchema, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type {
  GetRunRequest,
  GetRunResponseSchema,
  GetTaskRequest,
  GetTaskResponseSchema,
  ListRunsRequest,
  ListRunsResponseSchema,
  ListTasksRequest,
  ListTasksResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import {
  isOfVersion,
  presentPlanVersion,
  supersededIn,
  taskOfVersion,
} from "../../core/plan/plan-versions.js";
import { taskNumber } from "../../core/plan/tasks-of-run.js";
import { notFound } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import { RejectionError } from "../../kernel/outcome.js";
import type { Edge } from "../edge.js";
import { readPage } from "../page-request.js";
import { readNamespace, requireId, requireKnown } from "../validate/fields.js";
import { runView } from "../views/run-view.js";
import { taskView } from "../views/task-view.js";
import { pageOfRun } from "./parts-of-run.js";
import { standpointOf, targetOfRun } from "./requests.js";

/** Reads one run. */
export async function getRun(
  edge: Edge,
  request: GetRunRequest,
): Promise<MessageInitShape<typeof GetRunResponseSchema>> {
  const from = standpointOf(edge);
  return await edge.kernel.view(targetOfRun(request), (run, runNumber) => ({
    run: runView(run, { ...from, runNumber }),
  }));
}

/** Lists runs, newest first. */
export async function listRuns(
  edge: Edge,
  request: ListRunsRequest,
): Promise<MessageInitShape<typeof ListRunsResponseSchema>> {
  const { status, workflow } = request;
  const filter = { namespace: readNamespace(request.namespace), status, workflow };
  requireKnown(status, "status", RunStatus);
  if (workflow !== "") {
    requireId("workflow", workflow, "workflow");
  }
  const from = standpointOf(edge);
  const page = await edge.kernel.listRuns(filter, readPage(RunSchema, request), (run, runNumber) =>
    runView(run, { ...from, runNumber }),
  );
  return { runs: [...page.items], nextPageToken: page.nextPageToken };
}

/** Reads one task, with its output and its policy. */
export async function getTask(
  edge: Edge,
  request: GetTaskRequest,
): Promise<MessageInitShape<typeof GetTaskResponseSchema>> {
  const target = targetOfRun(request);
  const { task: name, planVersion } = request;
  requireId("task", name, "task");
  const from = standpointOf(edge);
  const task = await edge.kernel.view(target, (run, runNumber) => {
    requireVersion(run, planVersion);
    const number =
      planVersion === 0 ? taskNumber(run, name) : taskOfVersion(run, name, planVersion);
    return number === undefined
      ? undefined
      : taskView(run, number, { ...from, runNumber, isWhole: true });
  });
  if (task === undefined) {
    throw new RejectionError(notFound("task", name));
  }
  return { task };
}

/** Lists the tasks of one run in plan order. */
export async function listTasks(
  edge: Edge,
  request: ListTasksRequest,
): Promise<MessageInitShape<typeof ListTasksResponseSchema>> {
  const target = targetOfRun(request);
  const { status, runId, planVersion } = request;
  requireKnown(status, "status", TaskStatus);
  const filter = ["tasks", runId, `${status}`, `${planVersion}`];
  const from = standpointOf(edge);
  const page = readPage(TaskSchema, request);
  if (planVersion !== 0) {
    await edge.kernel.view(target, (run) => requireVersion(run, planVersion));
  }
  const { items, nextPageToken } = await pageOfRun(
    edge,
    target,
    { filter, page },
    {
      count: ({ tasks }) => tasks.length,
      rowOf: (run, number, runNumber) =>
        isListed(run, number, request)
          ? taskView(run, number, { ...from, runNumber, isWhole: false })
          : undefined,
    },
  );
  return { tasks: [...items], nextPageToken };
}

function requireVersion(run: Run, planVersion: number): void {
  if (planVersion > presentPlanVersion(run)) {
    throw new RejectionError(notFound("plan", `version ${planVersion}`));
  }
}

/** In the present version what revisions superseded is left out. */
function isListed(
  run: Run,
  number: number,
  { status, planVersion }: Pick<ListTasksRequest, "status" | "planVersion">,
): boolean {
  const isOfStatus = status === TaskStatus.UNSPECIFIED || run.tasks[number]?.status === status;
  return (
    isOfStatus &&
    (planVersion === 0 ? supersededIn(run, number) === 0 : isOfVersion(run, number, planVersion))
  );
}

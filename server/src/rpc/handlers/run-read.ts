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
import { taskNumber } from "../../core/plan/tasks-of-run.js";
import { notFound } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import type { Standpoint } from "../../core/view/why.js";
import { RejectionError } from "../../kernel/outcome.js";
import type { Edge } from "../edge.js";
import { fitPage, rowBytes } from "../fit-page.js";
import { readPageToken, writePageToken } from "../page-token.js";
import { readNamespace, readPageSize, requireId, requireKnown } from "../validate/fields.js";
import { runView } from "../views/run-view.js";
import { taskView } from "../views/task-view.js";
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
  const { status, workflow, pageToken } = request;
  const filter = { namespace: readNamespace(request.namespace), status, workflow };
  requireKnown(status, "status", RunStatus);
  if (workflow !== "") {
    requireId("workflow", workflow, "workflow");
  }
  const from = standpointOf(edge);
  const page = await fitPage(RunSchema, readPageSize(request.pageSize), (size) =>
    edge.kernel.listRuns(filter, { size, token: pageToken }, (run, runNumber) =>
      runView(run, { ...from, runNumber }),
    ),
  );
  return { runs: [...page.items], nextPageToken: page.nextPageToken };
}

/** Reads one task, with its output and its policy. */
export async function getTask(
  edge: Edge,
  request: GetTaskRequest,
): Promise<MessageInitShape<typeof GetTaskResponseSchema>> {
  const target = targetOfRun(request);
  const { task: name } = request;
  requireId("task", name, "task");
  const from = standpointOf(edge);
  const task = await edge.kernel.view(target, (run, runNumber) => {
    const number = taskNumber(run, name);
    return number === undefined
      ? undefined
      : taskView(run, number, { ...from, runNumber, isWhole: true });
  });
  if (task === undefined) {
    throw new RejectionError(notFound("task", name));
  }
  return { task };
}

/** What the rows of a page of tasks may take together, encoded. */
const taskPageBytes = 3_145_728;

/** Lists the tasks of one run in plan order. */
export async function listTasks(
  edge: Edge,
  request: ListTasksRequest,
): Promise<MessageInitShape<typeof ListTasksResponseSchema>> {
  const target = targetOfRun(request);
  const { status, runId } = request;
  requireKnown(status, "status", TaskStatus);
  const size = readPageSize(request.pageSize);
  const filter = ["tasks", runId, `${status}`];
  const first = readPageToken(filter, request.pageToken);
  const from = standpointOf(edge);
  const page = await edge.kernel.view(target, (run, runNumber) =>
    pageOfTasks(run, { ...from, first, size, status, runNumber }),
  );
  const isLast = page.next === undefined;
  return {
    tasks: page.tasks,
    nextPageToken: isLast ? "" : writePageToken(filter, page.next),
  };
}

interface TaskPageParts extends Standpoint {
  /** Number of the first task that may be on it. */
  readonly first: number;
  readonly size: number;
  readonly status: TaskStatus;
}

interface TaskPage {
  readonly tasks: MessageInitShape<typeof TaskSchema>[];
  /** Number of the task with which the next page begins; undefined on the last one. */
  readonly next: number | undefined;
}

function pageOfTasks(run: Run, parts: TaskPageParts): TaskPage {
  const { first, size, status } = parts;
  const tasks: MessageInitShape<typeof TaskSchema>[] = [];
  let bytes = 0;
  for (let number = first; number < run.tasks.length; number++) {
    if (status !== TaskStatus.UNSPECIFIED && run.tasks[number]?.status !== status) {
      continue;
    }
    const task = taskView(run, number, { ...parts, isWhole: false });
    if (task === undefined) {
      continue;
    }
    bytes += rowBytes(TaskSchema, task);
    if (tasks.length === size || (tasks.length > 0 && bytes > taskPageBytes)) {
      return { tasks, next: number };
    }
    tasks.push(task);
  }
  return { tasks, next: undefined };
}

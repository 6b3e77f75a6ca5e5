import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  ListQueriesRequest,
  ListQueriesResponseSchema,
  PublishedValueSchema,
  QueryRunRequest,
  QueryRunResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import { nameOfTask } from "../../core/plan/tasks-of-run.js";
import { notFound } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import { RejectionError } from "../../kernel/outcome.js";
import type { Edge } from "../edge.js";
import { requireId } from "../validate/fields.js";
import { payloadOf, timestampView } from "../views/payload-view.js";
import { targetOfRun } from "./requests.js";

/** Reads what a run published last under a name. */
export async function queryRun(
  edge: Edge,
  request: QueryRunRequest,
): Promise<MessageInitShape<typeof QueryRunResponseSchema>> {
  const target = targetOfRun(request);
  const { name } = request;
  requireId("step", name, "name");
  return await edge.kernel.view(target, (run) => {
    const published = run.published.get(name);
    const value = run.steps[published?.step ?? -1]?.value;
    if (published === undefined || value === undefined) {
      throw new RejectionError(notFound("query", name));
    }
    return { value: payloadOf(value), published: publishedView(run, name) };
  });
}

/** Lists what a run has published, by name. */
export async function listQueries(
  edge: Edge,
  request: ListQueriesRequest,
): Promise<MessageInitShape<typeof ListQueriesResponseSchema>> {
  return await edge.kernel.view(targetOfRun(request), (run) => ({
    published: [...run.published.keys()].sort().map((name) => publishedView(run, name)),
  }));
}

function publishedView(run: Run, name: string): MessageInitShape<typeof PublishedValueSchema> {
  const { step: number = -1, version = 0 } = run.published.get(name) ?? {};
  const step = run.steps[number];
  const publishedAt = timestampView(step?.observedAtMs ?? 0);
  return {
    name,
    version,
    task: step === undefined ? "" : nameOfTask(run, step.task),
    attempt: step?.attempt ?? 0,
    valueBytes: step?.value?.length ?? 0,
    eventNumber: step?.eventNumber ?? 0,
    incarnation: run.incarnation,
    ...(publishedAt === undefined ? {} : { publishedAt }),
  };
}

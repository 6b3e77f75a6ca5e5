import type { MessageInitShape } from "@bufbuild/protobuf";
import { ReviewChoice, ReviewSchema } from "@pawl/proto/v1/review_pb.js";
import type {
  GetReviewRequest,
  GetReviewResponseSchema,
  ListReviewsRequest,
  ListReviewsResponseSchema,
  ResolveReviewRequest,
  ResolveReviewResponseSchema,
  ReviewService,
} from "@pawl/proto/v1/review_service_pb.js";
import type { Page, PageRequest } from "../../kernel/kernel-api.js";
import type { Target } from "../../kernel/outcome.js";
import { admitMessage } from "../admission.js";
import { executeOne } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { readPage } from "../page-request.js";
import { badField } from "../refusals.js";
import {
  readNamespace,
  requireId,
  requireKnown,
  requireNumber,
  requireReason,
} from "../validate/fields.js";
import { parsePartId } from "../views/part-id.js";
import { reviewView } from "../views/review-view.js";
import type { ServiceHandlers } from "./handler.js";
import { pageOfRun, viewPart } from "./parts-of-run.js";
import { watchReviews } from "./review-watch.js";
import { withPartId } from "./with-part-id.js";

type ReviewInit = MessageInitShape<typeof ReviewSchema>;

/** Handlers of ReviewService. */
export function reviewHandlers(edge: Edge): ServiceHandlers<typeof ReviewService> {
  return {
    listReviews: (request) => listReviews(edge, request),
    getReview: (request) => getReview(edge, request),
    watchReviews: (request, call) => watchReviews(edge, request, call),
    resolveReview: (request, call) => resolveReview(edge, request, call),
  };
}

async function listReviews(
  edge: Edge,
  request: ListReviewsRequest,
): Promise<MessageInitShape<typeof ListReviewsResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const { runId, includeResolved } = request;
  const page = readPage(ReviewSchema, request);
  if (runId === "" && includeResolved) {
    throw badField("include_resolved", "set only together with run_id", "set without it");
  }
  if (runId !== "") {
    requireId("run_id", runId, "run_id");
  }
  const { items, nextPageToken } =
    runId === ""
      ? await edge.kernel.listReviews(
          namespace,
          page,
          (run, runNumber, review) => reviewView(run, review, runNumber) ?? {},
        )
      : await listOfRun(edge, { namespace, runId, includeResolved }, page);
  return { reviews: [...items], nextPageToken };
}

async function getReview(
  edge: Edge,
  { namespace, reviewId: id }: GetReviewRequest,
): Promise<MessageInitShape<typeof GetReviewResponseSchema>> {
  const review = await viewPart(edge, namespace, { entity: "review", id }, (run, numbers) =>
    reviewView(run, numbers.part, numbers.runNumber),
  );
  return { review };
}

interface RunFilter {
  readonly namespace: string;
  readonly runId: string;
  readonly includeResolved: boolean;
}

function listOfRun(
  edge: Edge,
  { namespace, runId, includeResolved }: RunFilter,
  page: PageRequest<ReviewInit>,
): Promise<Page<ReviewInit>> {
  const filter = ["reviews", runId, `${includeResolved}`];
  return pageOfRun(
    edge,
    { kind: "run", namespace, runId },
    { filter, page },
    {
      count: ({ reviews }) => reviews.length,
      rowOf: (run, number, runNumber) =>
        includeResolved || run.reviews[number]?.resolvedAtMs === 0
          ? reviewView(run, number, runNumber)
          : undefined,
    },
  );
}

async function resolveReview(
  edge: Edge,
  request: ResolveReviewRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof ResolveReviewResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const { reviewId, expectedVersion, choice, reason } = request;
  const { runNumber, part: review, incarnation } = parsePartId("review", reviewId);
  requireNumber(expectedVersion, "expected_version", { min: 1, max: 0xffff_ffff });
  requireKnown(choice, "choice", ReviewChoice);
  if (choice === ReviewChoice.UNSPECIFIED) {
    throw badField(
      "choice",
      "one of ACCEPT, DONE, RETRY, NOT_DONE, ABANDON, SKIP, FAIL",
      "UNSPECIFIED",
    );
  }
  requireReason(reason, "reason", 1);
  const target: Target = { kind: "number", number: runNumber, namespace };
  const result = await resultOf(edge, request, target);
  const command = {
    kind: "ResolveReview",
    incarnation,
    review,
    expectedVersion,
    choice,
    result,
    reason,
  } as const;
  const { value, position } = await withPartId("review", reviewId, () =>
    executeOne(edge, { target, command }, call.caller, ({ reply, run }) => ({
      existing: reply.existing,
      version: run.reviews[review]?.version ?? 0,
    })),
  );
  return { ...value, position };
}

/** The result that is given with DONE, and with nothing else. */
async function resultOf(
  edge: Edge,
  { choice, result }: ResolveReviewRequest,
  target: Target,
): Promise<Uint8Array | undefined> {
  if (choice !== ReviewChoice.DONE) {
    if (result !== undefined) {
      throw badField("result", "absent unless the choice is DONE", "set");
    }
    return undefined;
  }
  if (result === undefined) {
    throw badField("result", "set with DONE, as the sink would have given it", "absent");
  }
  return await admitMessage(edge, target, result, "result");
}

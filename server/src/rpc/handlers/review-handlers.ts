import { type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
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
import { notFound } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import type { Page } from "../../kernel/kernel-api.js";
import { RejectionError, type Target } from "../../kernel/outcome.js";
import { admit } from "../admission.js";
import { executeOne } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { fitPage } from "../fit-page.js";
import { readPageToken, writePageToken } from "../page-token.js";
import { scanPayload } from "../payload-scan.js";
import { badField } from "../refusals.js";
import {
  readNamespace,
  readPageSize,
  requireId,
  requireKnown,
  requireNumber,
  requireReason,
} from "../validate/fields.js";
import { parseReviewId, reviewView } from "../views/review-view.js";
import type { ServiceHandlers } from "./handler.js";
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
  const { runId, includeResolved, pageToken } = request;
  const pageSize = readPageSize(request.pageSize);
  if (runId === "" && includeResolved) {
    throw badField("include_resolved", "set only together with run_id", "set without it");
  }
  if (runId !== "") {
    requireId("run_id", runId, "run_id");
  }
  const page = await fitPage(ReviewSchema, pageSize, (size) =>
    runId === ""
      ? edge.kernel.listReviews(
          namespace,
          { size, token: pageToken },
          (run, runNumber, review) => reviewView(run, review, runNumber) ?? {},
        )
      : listOfRun(edge, { namespace, runId, includeResolved }, { size, pageToken }),
  );
  return { reviews: [...page.items], nextPageToken: page.nextPageToken };
}

async function getReview(
  edge: Edge,
  request: GetReviewRequest,
): Promise<MessageInitShape<typeof GetReviewResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const { reviewId } = request;
  const { runNumber, review } = parseReviewId(reviewId);
  const target: Target = { kind: "number", number: runNumber, namespace };
  const found = await withPartId("review", reviewId, () =>
    edge.kernel.view(target, (run) => reviewView(run, review, runNumber)),
  );
  if (found === undefined) {
    throw new RejectionError(notFound("review", reviewId));
  }
  return { review: found };
}

interface RunFilter {
  readonly namespace: string;
  readonly runId: string;
  readonly includeResolved: boolean;
}

function listOfRun(
  edge: Edge,
  { namespace, runId, includeResolved }: RunFilter,
  { size, pageToken }: { readonly size: number; readonly pageToken: string },
): Promise<Page<ReviewInit>> {
  const filter = ["reviews", runId, `${includeResolved}`];
  const from = readPageToken(filter, pageToken);
  return edge.kernel.view({ kind: "run", namespace, runId }, (run: Run, runNumber) => {
    const items: ReviewInit[] = [];
    for (let number = from; number < run.reviews.length; number++) {
      const isWanted = includeResolved || run.reviews[number]?.resolvedAtMs === 0;
      const review = isWanted ? reviewView(run, number, runNumber) : undefined;
      if (review === undefined) {
        continue;
      }
      if (items.length === size) {
        return { items, nextPageToken: writePageToken(filter, number) };
      }
      items.push(review);
    }
    return { items, nextPageToken: "" };
  });
}

async function resolveReview(
  edge: Edge,
  request: ResolveReviewRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof ResolveReviewResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const { reviewId, expectedVersion, choice, reason } = request;
  const { runNumber, review, incarnation } = parseReviewId(reviewId);
  requireNumber(expectedVersion, "expected_version", { min: 1, max: 0xffff_ffff });
  requireKnown(choice, "choice", ReviewChoice);
  if (choice === ReviewChoice.UNSPECIFIED) {
    throw badField("choice", "one of DONE, RETRY, NOT_DONE, ABANDON, SKIP, FAIL", "UNSPECIFIED");
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
  const bytes = toBinary(PayloadSchema, result);
  scanPayload(bytes, "result");
  return (await admit(edge, target, bytes, "result")) ?? bytes;
}

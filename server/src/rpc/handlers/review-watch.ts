import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type {
  ReviewChangeSchema,
  WatchReviewsRequest,
  WatchReviewsResponseSchema,
} from "@pawl/proto/v1/review_service_pb.js";
import type { WatchedEvent } from "../../kernel/kernel-api.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { readNamespace } from "../validate/fields.js";
import { partId } from "../views/part-id.js";
import { refuseEnd, watch } from "./run-watch.js";

type ChangeInit = MessageInitShape<typeof ReviewChangeSchema>;

/** Sends what happens to reviews, of runs and of operations that belong to none. */
export async function* watchReviews(
  edge: Edge,
  request: WatchReviewsRequest,
  call: CallContext,
): AsyncIterable<MessageInitShape<typeof WatchReviewsResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const { position } = request;
  const told = watch(call, (listener) => edge.kernel.watchAll(namespace, position, listener));
  for await (const part of told) {
    const changes = part.kind === "events" ? part.events.flatMap(changesOf) : [];
    if (part.kind !== "events" || changes.length > 0) {
      yield { changes, position: part.position };
    }
    if (part.kind === "end") {
      refuseEnd(part.reason);
    }
  }
}

function changesOf(watched: WatchedEvent): ChangeInit[] {
  const { body, atMs } = watched.event;
  if (body.case !== "reviewOpened" && body.case !== "reviewResolved") {
    return [];
  }
  const number = body.value.review;
  const review = watched.review(number);
  // What a review is about never changes: the state says it also of an event long past.
  if (review === undefined) {
    return [];
  }
  const change: ChangeInit = {
    reviewId: partId(watched.runNumber, number, watched.incarnation),
    runId: watched.runId,
    task: review.subject === ReviewSubject.RUN ? "" : watched.taskName(review.task),
    subject: review.subject,
    operationKey: isOfOperation(review) ? watched.operationKey(review.operation) : "",
    known: review.known,
    resolution: ReviewChoice.UNSPECIFIED,
    at: timestampFromMs(atMs),
  };
  return body.case === "reviewOpened"
    ? [change]
    : [
        {
          ...change,
          resolution: body.value.choice,
          resolvedBy: body.value.principal,
          reason: body.value.reason,
        },
      ];
}

function isOfOperation({ subject }: { readonly subject: ReviewSubject }): boolean {
  return subject === ReviewSubject.OPERATION || subject === ReviewSubject.REUSE;
}

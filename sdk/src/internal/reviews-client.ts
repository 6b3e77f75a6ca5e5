import { DefinitionInvalid, PawlError } from "../errors.js";
import type {
  ListReviewsOptions,
  ReviewAnswer,
  ReviewChangeInfo,
  ReviewDecision,
  ReviewInfo,
  Reviews,
  ReviewWatchOptions,
} from "../reviews.js";
import type { ClientCore } from "./client-core.js";
import { encodeValue } from "./codec.js";
import { follow } from "./follow.js";
import { changeInfo, choiceOfName, openedInfo, reviewInfo } from "./review-info.js";
import { callUnary } from "./unary.js";

/** `client.reviews`. */
export class ReviewsClient implements Reviews {
  readonly #core: ClientCore;

  constructor(core: ClientCore) {
    this.#core = core;
  }

  async *list(options: ListReviewsOptions = {}): AsyncGenerator<ReviewInfo> {
    const { api, namespace } = this.#core;
    const { runId = "", includeResolved = false } = options;
    let pageToken = "";
    do {
      const request = { namespace, runId, includeResolved, pageToken };
      const page = await callUnary(
        (call) => api.reviews.listReviews(request, call),
        this.#core.unary(),
      );
      yield* page.reviews.map(reviewInfo);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  async get(reviewId: string): Promise<ReviewInfo> {
    const { api, namespace } = this.#core;
    const { review } = await callUnary(
      (call) => api.reviews.getReview({ namespace, reviewId }, call),
      this.#core.unary(),
    );
    if (review === undefined) {
      throw new PawlError(
        "PAWL_UNKNOWN_ANSWER",
        "Expected a review, but the answer has none. Update @pawl/sdk.",
      );
    }
    return reviewInfo(review);
  }

  async resolve(
    { reviewId, version }: Pick<ReviewInfo, "reviewId" | "version">,
    decision: ReviewDecision,
  ): Promise<ReviewAnswer> {
    const { api, namespace } = this.#core;
    const { choice, reason } = decision;
    const base = { namespace, reviewId, expectedVersion: version, reason };
    const request =
      decision.choice === "done"
        ? { ...base, choice: choiceOfName(choice), result: resultOf(decision.result) }
        : { ...base, choice: choiceOfName(choice) };
    return callUnary((call) => api.reviews.resolveReview(request, call), this.#core.unary());
  }

  watch(options: ReviewWatchOptions = {}): AsyncIterable<ReviewChangeInfo> {
    const { api, namespace } = this.#core;
    return follow(this.#core, options, {
      open: (position, signal) => api.reviews.watchReviews({ namespace, position }, { signal }),
      read: ({ changes }, position) =>
        changes.map((change, place) =>
          changeInfo(change, place === changes.length - 1 ? position : undefined),
        ),
      current: () => this.#listOpened(),
    });
  }

  async *#listOpened(): AsyncGenerator<ReviewChangeInfo> {
    for await (const review of this.list()) yield openedInfo(review);
  }
}

function resultOf(result: unknown): NonNullable<ReturnType<typeof encodeValue>> {
  const payload = encodeValue(result, "the result");
  if (payload === undefined) {
    throw new DefinitionInvalid(
      'Expected a result with choice "done", but it is undefined. Give what the sink gave, or the output; null when there is nothing to say.',
    );
  }
  return payload;
}

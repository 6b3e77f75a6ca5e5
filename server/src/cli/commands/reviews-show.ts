import { ReviewSchema } from "@pawl/proto/v1/review_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { reviewFields, reviewHeadline } from "../format/review.js";
import { addKernelOptions, type KernelOptions } from "../options.js";
import { type KernelSession, withKernel } from "../with-kernel.js";
import { resolveCommand } from "./reviews-list.js";

/** `pawl reviews show REVIEW`. */
export function addReviewsShow(group: Command, context: CliContext): void {
  const command = group
    .command("show")
    .description("show one review: what is known, what may be decided, or what was")
    .argument("<review>", "id of the review");
  addKernelOptions(command).action((reviewId: string, options: KernelOptions) =>
    withKernel(context, options, (session) => showReview(session, reviewId)),
  );
}

async function showReview(session: KernelSession, reviewId: string): Promise<void> {
  const { kernel, namespace, out, followUps } = session;
  const request = { namespace, reviewId };
  const { review } = await kernel.reviews.getReview(request, { timeoutMs: CALL_TIMEOUT_MS });
  if (review === undefined) {
    throw new Error(
      "Expected a review in the answer, but it is empty. Is the kernel newer than this command?",
    );
  }
  if (out.isJson) {
    out.message(ReviewSchema, review);
    return;
  }
  out.lines(reviewHeadline(review, out.style));
  out.fields(reviewFields(review, out.clock));
  out.next([
    ...(review.resolvedAt === undefined ? [resolveCommand(followUps, review)] : []),
    ...(review.operationKey === "" ? [] : [followUps.command("op show", [review.operationKey])]),
    ...(review.runId === "" ? [] : [followUps.command("why", [review.runId])]),
  ]);
}

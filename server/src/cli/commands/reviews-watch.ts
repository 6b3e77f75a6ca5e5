import { ReviewChoice, ReviewSubjectSchema } from "@pawl/proto/v1/review_pb.js";
import {
  type ReviewChange,
  type WatchReviewsResponse,
  WatchReviewsResponseSchema,
} from "@pawl/proto/v1/review_service_pb.js";
import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { enumWord } from "../format/enum-word.js";
import { choiceWord } from "../format/review.js";
import { clean, sentence } from "../format/text.js";
import { formatTime } from "../format/time.js";
import { addKernelOptions, type KernelOptions, readPosition } from "../options.js";
import { watchOn } from "../watch-run.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

interface WatchOptions extends KernelOptions {
  readonly after?: Uint8Array;
}

/** `pawl reviews watch`. */
export function addReviewsWatch(group: Command, context: CliContext): void {
  const command = group
    .command("watch")
    .description(
      "print reviews as they are opened and resolved; goes on over restarts of the kernel",
    )
    .option(
      "--after <position>",
      "go on behind this position, as an earlier --json line gave it (default: from now)",
      readPosition,
    );
  addKernelOptions(command).action((options: WatchOptions) =>
    withKernel(context, options, async (session) => {
      const { kernel, namespace } = session;
      const open = (position: Uint8Array): AsyncIterable<WatchReviewsResponse> =>
        kernel.reviews.watchReviews({ namespace, position });
      const answers = watchOn(session, open, options.after ?? new Uint8Array());
      for await (const answer of answers) printChanges(session, answer);
    }),
  );
}

function printChanges({ out, followUps }: KernelSession, answer: WatchReviewsResponse): void {
  if (out.isJson) {
    out.message(WatchReviewsResponseSchema, answer);
    return;
  }
  for (const change of answer.changes) {
    out.lines(`${out.style("dim", formatTime(change.at, out.clock))}  ${describe(change)}`);
    if (change.resolution === ReviewChoice.UNSPECIFIED) {
      out.next([followUps.command("reviews show", [change.reviewId])]);
    }
  }
}

function describe(change: ReviewChange): string {
  const { reviewId, subject, known, resolution, resolvedBy, reason } = change;
  const what = `Review ${clean(reviewId)} of the ${enumWord(ReviewSubjectSchema, subject).toLowerCase()}`;
  if (resolution === ReviewChoice.UNSPECIFIED) {
    return `${what} was opened: ${clean(sentence(known))}`;
  }
  const by = resolvedBy === "" ? "" : ` by ${clean(resolvedBy)}`;
  return `${what} was resolved${by}: ${choiceWord(resolution)}${reason === "" ? "" : ` ("${clean(reason)}")`}.`;
}

import { ReviewChoice, ReviewChoiceSchema } from "@pawl/proto/v1/review_pb.js";
import { ResolveReviewResponseSchema } from "@pawl/proto/v1/review_service_pb.js";
import type { Command } from "commander";
import { usageError } from "../cli-error.js";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { enumChoices } from "../format/enum-word.js";
import { choiceWord } from "../format/review.js";
import { clean } from "../format/text.js";
import { messageFields } from "../json.js";
import {
  addKernelOptions,
  enumWordOption,
  type KernelOptions,
  UINT32_MAX,
  wholeNumber,
} from "../options.js";
import { LIMIT_MAX } from "../paging.js";
import { type KernelSession, withKernel } from "../with-kernel.js";
import { readReviews } from "./reviews-list.js";
import { readContent } from "./run-start.js";

interface ResolveOptions extends KernelOptions {
  readonly choice: ReviewChoice;
  readonly result?: string;
  readonly reason: string;
  readonly expectedVersion?: number;
}

/** `pawl reviews resolve REVIEW`. */
export function addReviewsResolve(group: Command, context: CliContext): void {
  const command = group
    .command("resolve")
    .description("decide a review; the same decision again is answered as existing")
    .argument("<review>", "id of the review")
    .requiredOption(
      "--choice <choice>",
      `${enumChoices(ReviewChoiceSchema).join(", ")}: see the review for those that it offers, and pawl reviews resolve in docs/reference/cli.md for what they mean`,
      enumWordOption(ReviewChoiceSchema),
    )
    .option(
      "--result <json>",
      "with --choice done: the result as the sink would have given it, or the task's output, JSON or @FILE",
    )
    .requiredOption("--reason <text>", "why, for the record")
    .option(
      "--expected-version <number>",
      "version you decided on, from reviews list (default: the present one)",
      wholeNumber(1, UINT32_MAX),
    );
  addKernelOptions(command).action(async (reviewId: string, options: ResolveOptions) => {
    const isDone = options.choice === ReviewChoice.DONE;
    if (isDone !== (options.result !== undefined)) {
      throw usageError(
        isDone
          ? "Expected --result with --choice done: what happened must be recorded, but it is not given."
          : "Expected --result only with --choice done, but the choice is another.",
      );
    }
    const result = await readContent(context, "--result", options.result);
    await withKernel(
      context,
      options,
      (session) => resolveReview(session, reviewId, { ...options, payload: result }),
      (reason, followUps) =>
        reason === "PAWL_FINGERPRINT_CONFLICT"
          ? [
              "Leave it: a decision is recorded once. Read the one that was made.",
              followUps.command("reviews show", [reviewId]),
            ]
          : undefined,
    );
  });
}

type Resolution = ResolveOptions & { readonly payload: Awaited<ReturnType<typeof readContent>> };

async function resolveReview(
  session: KernelSession,
  reviewId: string,
  resolution: Resolution,
): Promise<void> {
  const { kernel, namespace, out, followUps } = session;
  const { choice, reason, payload } = resolution;
  const expectedVersion = resolution.expectedVersion ?? (await presentVersion(session, reviewId));
  const answer = await kernel.reviews.resolveReview(
    { namespace, reviewId, choice, reason, expectedVersion, ...(payload && { result: payload }) },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  if (out.isJson) {
    out.json({ reviewId, ...messageFields(ResolveReviewResponseSchema, answer) });
    return;
  }
  const name = `Review ${out.style("bold", clean(reviewId))}`;
  const word = choiceWord(choice);
  out.lines(
    answer.existing
      ? `${name} had been resolved as ${word} before; nothing was changed.`
      : `${name} is resolved: ${word}. ${CONSEQUENCES[choice]}`,
  );
  out.next([followUps.command("reviews list")]);
}

const CONSEQUENCES: Readonly<Record<ReviewChoice, string>> = {
  [ReviewChoice.UNSPECIFIED]: "",
  [ReviewChoice.DONE]: "The result is recorded, and who waits for it goes on with it.",
  [ReviewChoice.RETRY]:
    "It is tried again: an effect with the same key, a task with all its attempts.",
  [ReviewChoice.ABANDON]: "The effect is given up, and who waits for it is told so.",
  [ReviewChoice.FAIL]: "The task is failed for good.",
  [ReviewChoice.SKIP]: "The task is left out, and what needs it goes on.",
  [ReviewChoice.ACCEPT]: "What its code returned is its output, and what needs it goes on.",
  [ReviewChoice.NOT_DONE]:
    "The effect counts as not done; the next attempt, if one can come, calls it.",
};

/**
 * The version that an open review has now. For a review that is not open it is one that none ever has: the kernel then
 * says whether it was resolved the same way, another way, or never was; and one that opens just now is not decided blindly.
 */
async function presentVersion(session: KernelSession, reviewId: string): Promise<number> {
  const filter = { runId: "", includeResolved: false, limit: LIMIT_MAX };
  const { items } = await readReviews(session, filter);
  return items.find((review) => review.reviewId === reviewId)?.version ?? UINT32_MAX;
}

import { type Review, ReviewSchema } from "@pawl/proto/v1/review_pb.js";
import type { Command } from "commander";
import { usageError } from "../cli-error.js";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { reviewFields, reviewHeadline } from "../format/review.js";
import { count } from "../format/text.js";
import { addKernelOptions, type KernelOptions, wholeNumber } from "../options.js";
import { LIMIT_MAX, printList, type ReadList, ROWS_DEFAULT, readList } from "../paging.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

interface ListOptions extends KernelOptions {
  readonly run?: string;
  readonly all?: boolean;
  readonly limit: number;
}

/** Which reviews to read. */
export interface ReviewFilter {
  /** Empty: of all runs. */
  readonly runId: string;
  /** Only together with a run. */
  readonly includeResolved: boolean;
  readonly limit: number;
}

/** `pawl reviews list`. */
export function addReviewsList(group: Command, context: CliContext): void {
  const command = group
    .command("list")
    .description("list what waits for a person, oldest first")
    .option("--run <run>", "only reviews of this run")
    .option("--all", "also resolved ones; only together with --run")
    .option("--limit <count>", "most reviews to list", wholeNumber(1, LIMIT_MAX), ROWS_DEFAULT);
  addKernelOptions(command).action((options: ListOptions) => {
    if (options.all === true && options.run === undefined) {
      throw usageError("Expected --all together with --run RUN, but --run is not given.");
    }
    return withKernel(context, options, async (session) => {
      const list = await readReviews(session, {
        runId: options.run ?? "",
        includeResolved: options.all === true,
        limit: options.limit,
      });
      printList(session.out, list, {
        schema: ReviewSchema,
        noun: "review",
        print: (reviews) => printReviews(session, reviews),
      });
    });
  });
}

/** Reads reviews, oldest first. */
export function readReviews(
  { kernel, namespace }: KernelSession,
  { runId, includeResolved, limit }: ReviewFilter,
): Promise<ReadList<Review>> {
  return readList(limit, async (page) => {
    const request = { namespace, runId, includeResolved, ...page };
    const answer = await kernel.reviews.listReviews(request, { timeoutMs: CALL_TIMEOUT_MS });
    return { items: answer.reviews, nextPageToken: answer.nextPageToken };
  });
}

function printReviews({ out, followUps }: KernelSession, reviews: readonly Review[]): void {
  if (reviews.length === 0) {
    out.lines("No review matches: nothing waits for a person here.");
    return;
  }
  out.lines(`${count(reviews.length, "review")}, oldest first.`);
  for (const review of reviews) {
    out.lines("", reviewHeadline(review, out.style));
    out.fields(reviewFields(review, out.clock));
    if (review.resolvedAt === undefined) {
      out.fields([["decide", resolveCommand(followUps, review)]]);
    }
  }
  const keys = reviews.map(({ operationKey }) => operationKey).filter((key) => key !== "");
  out.next([
    ...[...new Set(keys)].slice(0, 3).map((key) => followUps.command("op show", [key])),
    ...(reviews.some(({ resolvedAt }) => resolvedAt === undefined)
      ? ["npx --no pawl reviews resolve --help"]
      : []),
  ]);
}

/** The command that decides a review as it is now; choice and reason are to be filled in. */
export function resolveCommand(followUps: KernelSession["followUps"], review: Review): string {
  return followUps.command(
    "reviews resolve",
    [review.reviewId],
    ["--expected-version", `${review.version}`, "--choice", "CHOICE", "--reason", "TEXT"],
  );
}

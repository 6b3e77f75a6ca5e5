import type { Client, ReviewInfo } from "@pawl/sdk";

/** The first open review of a run, once there is one. */
export async function firstReview(
  client: Pick<Client, "reviews">,
  runId: string,
): Promise<ReviewInfo> {
  for await (const change of client.reviews.watch({ current: true })) {
    if (change.runId === runId && change.resolution === undefined) {
      return await client.reviews.get(change.reviewId);
    }
  }
  throw new Error("the watch ended");
}

import { create } from "@bufbuild/protobuf";
import { ReviewWaitSchema, TaskWaitSchema } from "@pawl/proto/v1/worker_service_pb.js";
import { otherKind } from "../sleep.js";
import type { WaitCall } from "../waits.js";
import type { Turns } from "./turns.js";

/** Name of the waits for reviews; their key is the id of the review. */
const WAIT_NAME = "review";

/** Waits until a review is resolved. The operation that it is about is no work of the function meanwhile: with nothing else to do, its task is given back. */
export async function awaitReview(turns: Turns, reviewId: string): Promise<void> {
  const wait = create(TaskWaitSchema, {
    name: WAIT_NAME,
    key: reviewId,
    subject: { case: "review", value: create(ReviewWaitSchema, { reviewId }) },
  });
  const call: WaitCall = { name: WAIT_NAME, key: reviewId, describe: () => wait };
  const { outcome } = await turns.askAside({
    name: WAIT_NAME,
    key: reviewId,
    call,
    isWanted: () => true,
  });
  if (outcome.case !== "review") throw otherKind(WAIT_NAME, "a decision", outcome.case);
}

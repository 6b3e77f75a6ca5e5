import { type Duration, durationMs } from "@bufbuild/protobuf/wkt";
import { OnExhausted, type RetryPolicy, type TaskTimeouts } from "@pawl/proto/v1/plan_pb.js";
import { count } from "./text.js";
import { formatLength } from "./time.js";

/** When a task is tried again, in words. */
export function describeRetry(retry: RetryPolicy): string {
  const { attemptsMax, backoffCoefficient, jitter = 0, nonRetryable, workerLossesMax } = retry;
  const first = lengthOf(retry.initialInterval);
  const longest = lengthOf(retry.intervalMax);
  const end = retry.onExhausted === OnExhausted.ASK ? "then a person is asked" : "then it fails";
  return [
    `at most ${count(attemptsMax, "attempt")}, ${end}`,
    `${first} before the second, ${backoffCoefficient} times as long before each further one, at most ${longest}`,
    `${Math.round(jitter * 100)}% of each wait random`,
    `a person is asked after ${count(workerLossesMax, "lost worker")} in a row`,
    ...(nonRetryable.length === 0 ? [] : [`never after ${nonRetryable.join(", ")}`]),
  ].join("; ");
}

/** The timeouts of a task, in words. */
export function describeTimeouts(timeouts: TaskTimeouts): string {
  return [
    `schedule-to-start ${lengthOf(timeouts.scheduleToStart)}`,
    `start-to-close ${lengthOf(timeouts.startToClose)}`,
    `schedule-to-close ${lengthOf(timeouts.scheduleToClose)}`,
    `lease ${lengthOf(timeouts.lease)}`,
  ].join("; ");
}

function lengthOf(length: Duration | undefined): string {
  return length === undefined ? "none" : formatLength(durationMs(length));
}

import { FailureOrigin } from "@pawl/proto/v1/failure_pb.js";
import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventBody } from "../event.js";
import type { Run } from "../state.js";
import type { FoundTask } from "./find.js";

/** Longest message that is quoted, in UTF-16 code units. */
const quotedMax = 1_500;

/** Opens a review of a task whose code contradicts what is recorded: until somebody brings back code that fits, no attempt would go better. */
export function openMisfitReview(
  run: Run,
  { task, spec }: FoundTask,
  { message }: Pick<FailureShape, "message">,
): EventBody {
  const known = `The code of task "${spec.name}" at worker "${task.worker}" does not fit what is recorded: ${cut(message)}`;
  return opened(run, task.number, known);
}

/** Keeps what a task's code returned, and asks a person whether it stands. */
export function holdReturn(
  run: Run,
  { task, spec }: FoundTask,
  output: Uint8Array | undefined,
  unvisited: readonly string[],
): EventBody[] {
  const names = unvisited.join(", ");
  const known =
    `The code of task "${spec.name}" returned at worker "${task.worker}", but it did not reach what is recorded: ${cut(names)}. ` +
    "What it returned is kept: accept it, or bring back the code that made the records and retry.";
  const failure: FailureShape = {
    kind: "UnvisitedRecord",
    code: "PAWL_UNVISITED_RECORD",
    message: `Expected the code to reach everything that is recorded before it returns, but it did not reach ${cut(names)}. A person must say whether what it returned stands.`,
    stack: "",
    retryable: false,
    origin: FailureOrigin.KERNEL,
  };
  return [
    opened(run, task.number, known, { output }),
    {
      case: "attemptFailed",
      value: {
        task: task.number,
        leaseVersion: task.leaseVersion,
        failure,
        progress: undefined,
        attempt: task.attempt,
        review: run.reviews.length,
        next: TaskStatus.NEEDS_REVIEW,
        readyAtMs: 0,
      },
    },
  ];
}

function opened(
  run: Run,
  task: number,
  known: string,
  returned?: { readonly output: Uint8Array | undefined },
): EventBody {
  return {
    case: "reviewOpened",
    value: {
      review: run.reviews.length,
      subject: ReviewSubject.TASK,
      operation: 0,
      task,
      known,
      returned,
    },
  };
}

/** Never cuts a surrogate pair in half. */
function cut(text: string): string {
  return text.length <= quotedMax
    ? text
    : `${text.slice(0, quotedMax).replace(/[\ud800-\udbff]$/, "")}…`;
}

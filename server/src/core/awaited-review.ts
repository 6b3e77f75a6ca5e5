import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { Review, Run, Task } from "./state.js";

/** The open review of an operation beside which a task goes on: it waits for the resolution like for anything else. Undefined: there is none. */
export function awaitedReview(run: Run, { openWaits }: Task): Review | undefined {
  for (const number of openWaits) {
    const subject = run.waits[number]?.declaration.subject;
    if (subject?.case === "review") {
      return run.reviews[subject.value.review];
    }
  }
  return undefined;
}

/** The tasks that a review is about, or that wait for it, by number, each once. */
export function tasksOfReview(run: Run, review: Review): number[] {
  const { task, waitingTasks, number, subject } = review;
  const waits = run.openWaitsBySubject.get(`review:${number}`) ?? [];
  const beside = waits.flatMap((wait) => run.waits[wait]?.task ?? []);
  return subject === ReviewSubject.RUN ? [] : [...new Set([task, ...waitingTasks, ...beside])];
}

import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { StoredEvent } from "@pawl/server/kernel/kernel-api.js";
import { textOf } from "../contents.js";
import { begins, stateOf } from "../incarnations.js";
import type { ShadowLog, ShadowRun } from "../shadow-log.js";

interface Asked {
  readonly task: number;
  /** What its code returned, as text; undefined: it did not return. */
  readonly returned: string | undefined;
}

/**
 * Reviews of tasks by the events alone: nobody holds a task while a person is asked about it; what its code returned stands exactly when the
 * person accepts it, and is then what it returned.
 */
export function checkReviews(shadow: ShadowLog, complain: (text: string) => void): void {
  for (const run of shadow.runs.values()) {
    const judge = new ReviewJudge(run, complain);
    for (const event of run.events) {
      judge.hear(event);
    }
  }
}

class ReviewJudge {
  readonly #run: ShadowRun;
  readonly #complain: (text: string) => void;
  readonly #open = new Map<number, Asked>();

  constructor(run: ShadowRun, complain: (text: string) => void) {
    this.#run = run;
    this.#complain = complain;
  }

  hear({ body, number }: StoredEvent): void {
    if (begins(body)) {
      this.#open.clear();
    }
    if (body.case === "reviewOpened" && body.value.subject === ReviewSubject.TASK) {
      const { review, task, returned } = body.value;
      this.#open.set(review, { task, returned: returned && textOf(returned.output) });
    } else if (body.case === "taskLeased") {
      this.#requireUnasked(body.value.task, number);
    } else if (body.case === "reviewResolved") {
      const asked = this.#open.get(body.value.review);
      this.#open.delete(body.value.review);
      if (asked !== undefined && body.value.choice === ReviewChoice.ACCEPT) {
        this.#accepted(asked, number);
      }
    }
  }

  #requireUnasked(task: number, event: number): void {
    for (const asked of this.#open.values()) {
      if (asked.task === task) {
        this.#complain(
          `run ${this.#run.number}, event ${event}: task ${task} is leased while a person is asked`,
        );
      }
    }
  }

  #accepted({ task, returned }: Asked, event: number): void {
    const { status, output } = stateOf(this.#run, event).tasks[task] ?? {};
    if (returned === undefined || status !== TaskStatus.COMPLETED || textOf(output) !== returned) {
      this.#complain(
        `run ${this.#run.number}, event ${event}: ${returned} was accepted of task ${task}, which is ${status} with ${textOf(output)}`,
      );
    }
  }
}

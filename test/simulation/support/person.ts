import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { legalChoices } from "@pawl/server/core/review-choices.js";
import type { Review, Run } from "@pawl/server/core/state.js";
import { payload } from "../../core/support/values.js";
import { Caller, type World } from "./caller.js";
import type { Process } from "./process.js";
import type { Sinks } from "./sinks.js";

interface SeenReview {
  readonly runNumber: number;
  readonly review: number;
  readonly version: number;
  readonly incarnation: number;
  /** Empty for a review of a task. */
  readonly operationKey: string;
  /** From when on it is known what the call did, by kernel time. */
  readonly settledAtMs: number;
  /** What the kernel offers. */
  readonly choices: readonly ReviewChoice[];
  readonly nowMs: number;
}

interface SeenProposal {
  readonly runNumber: number;
  readonly proposal: number;
  readonly fingerprint: Uint8Array;
}

/** A careful person: looks at the list of reviews, then at the sink, not before the call can do nothing more, and decides by what is there. */
export class Person extends Caller {
  readonly #sinks: Sinks;

  constructor(parts: { readonly world: World; readonly process: Process; readonly sinks: Sinks }) {
    super(parts.world, parts.process);
    this.#sinks = parts.sinks;
  }

  /** Begins to look, again and again. */
  begin(): void {
    this.process.begin();
    this.#look().catch((error: unknown) => {
      this.world.complain(`the person fails: ${String(error)}`);
    });
  }

  async #look(): Promise<void> {
    for (;;) {
      await this.process.wait(this.world.prng.around(3_000));
      const { value } = await this.call<readonly SeenReview[]>("for reviews", (reply) =>
        this.#list(reply),
      );
      for (const review of value) {
        await this.#decide(review);
      }
      await this.#approveAll();
    }
  }

  /** Approves what waits for it, restating what was shown. */
  async #approveAll(): Promise<void> {
    const { value } = await this.call<readonly SeenProposal[]>("for proposals", (reply) =>
      this.#listProposals(reply),
    );
    for (const { runNumber, proposal, fingerprint } of value) {
      await this.askOne(`approval of ${runNumber}-p${proposal}`, {
        target: { kind: "number", number: runNumber },
        command: {
          ...{ kind: "DecideProposal", namespace: "default", proposal, fingerprint },
          ...{ proposalId: `${runNumber}-p${proposal}`, expectedVersion: 1, reason: "fine" },
          verdict: ProposalVerdict.APPROVE,
        },
      });
    }
  }

  #listProposals(reply: (proposals: readonly SeenProposal[]) => void): void {
    const filter = {
      namespace: "default",
      runId: "",
      status: ProposalStatus.PENDING,
      addressee: "",
    };
    this.world.host.deliver((kernel) => {
      kernel
        .listProposals(filter, { size: 50, token: "" }, (run, runNumber, proposal) => {
          const fingerprint = run.proposals[proposal]?.declaration.fingerprint.slice();
          return fingerprint === undefined ? undefined : { runNumber, proposal, fingerprint };
        })
        .then(
          ({ items }) => reply(items.filter((item) => item !== undefined)),
          // The kernel went away meanwhile; it is asked again.
          (error: unknown) => this.world.note(`proposals: ${String(error)}`),
        );
    });
  }

  #list(reply: (reviews: readonly SeenReview[]) => void): void {
    this.world.host.deliver((kernel) => {
      const { nowMs } = kernel.info();
      kernel
        .listReviews("default", { size: 50, token: "" }, (run, runNumber, number) => {
          const review = run.reviews[number];
          return review === undefined ? undefined : seen(run, review, { runNumber, nowMs });
        })
        .then(
          ({ items }) => reply(items.filter((item) => item !== undefined)),
          // The kernel went away meanwhile; it is asked again.
          (error: unknown) => this.world.note(`reviews: ${String(error)}`),
        );
    });
  }

  async #decide(review: SeenReview): Promise<void> {
    if (review.nowMs < review.settledAtMs) {
      return;
    }
    const effect = this.#sinks.truth(review.operationKey);
    const choice =
      review.operationKey === ""
        ? this.world.prng.pick(review.choices)
        : this.#choose(effect !== undefined, review);
    await this.askOne(`decision ${choice} about ${review.operationKey}`, {
      target: { kind: "number", number: review.runNumber },
      command: {
        kind: "ResolveReview",
        incarnation: review.incarnation,
        review: review.review,
        expectedVersion: review.version,
        choice,
        result:
          choice === ReviewChoice.DONE ? payload({ receipt: effect?.receipt ?? "" }) : undefined,
        reason: "looked",
      },
    });
  }

  #choose(hasHappened: boolean, { choices, review }: SeenReview): ReviewChoice {
    if (hasHappened) {
      return ReviewChoice.DONE;
    }
    const isAgain = choices.includes(ReviewChoice.RETRY) && this.world.prng.chance(0.8);
    const again = review % 2 === 0 ? ReviewChoice.RETRY : ReviewChoice.NOT_DONE;
    return isAgain ? again : ReviewChoice.ABANDON;
  }
}

function seen(
  run: Run,
  review: Review,
  at: { readonly runNumber: number; readonly nowMs: number },
): SeenReview | undefined {
  const choices = legalChoices(run, review);
  if (choices.length === 0) {
    return undefined;
  }
  const operation =
    review.subject === ReviewSubject.OPERATION ? run.operations[review.operation] : undefined;
  const { number, version } = review;
  const isSettledAtMs =
    operation === undefined ? 0 : operation.callByMs + operation.declaration.settleMs;
  const operationKey = operation?.declaration.key ?? "";
  const { incarnation } = run;
  return {
    ...at,
    incarnation,
    review: number,
    version,
    operationKey,
    settledAtMs: isSettledAtMs,
    choices,
  };
}

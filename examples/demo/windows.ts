import type { SinkMode } from "../ticket-service/client.js";

/** Where somebody is killed. The list is fixed: a window that was not tried is a failure. */
export const windows = [
  "before-sink",
  "after-sink",
  "after-completion",
  "kernel-before-segment",
  "kernel-after-segment",
  "kernel-checkpoint",
  "kernel-start",
  "both",
  "single-before-sink",
  "single-after-sink",
  "single-after-completion",
  "coordinator-after-worker",
  "merge-of-all",
  "merge-of-some",
  "approval-pending",
  "approved-not-consumed",
  "consumed-not-performed",
  "content-changed",
  "expired-while-down",
  "two-approvers",
] as const;

/** One of the windows. */
export type Window = (typeof windows)[number];

/** What must become of the proposals of a run whose effect a person has to allow. */
export interface ExpectedApproval {
  /** Proposals made; each but the first revises the one before it. */
  readonly proposals: number;
  /** How the last one ended. */
  readonly status: "consumed" | "expired";
  /** Who approved the last one, in order of their names. */
  readonly approvers: readonly string[];
}

/** Nobody proves who they are: whoever decides is `local`. */
const byLocal: ExpectedApproval = { proposals: 1, status: "consumed", approvers: ["local"] };

/** What must come out of the windows in which a person is asked first. Written by hand. */
export const expectedApprovals: Readonly<Partial<Record<Window, ExpectedApproval>>> = {
  "approval-pending": byLocal,
  "approved-not-consumed": byLocal,
  "consumed-not-performed": byLocal,
  "content-changed": { ...byLocal, proposals: 2 },
  "expired-while-down": { proposals: 1, status: "expired", approvers: [] },
  "two-approvers": { proposals: 1, status: "consumed", approvers: ["ann", "bob"] },
};

/** What the function that merges must have been given, and what must have become of the tasks that it called. */
export interface ExpectedMerge {
  /** What the ticket's title says behind that of the order: the results in the order in which they were given. */
  readonly suffix: string;
  /** Called tasks that may be cancelled, since enough others had ended. */
  readonly givenUp: readonly string[];
}

/** What must come out of the windows in which a function merges what the tasks found that it called. Written by hand. */
export const expectedMerges: Readonly<Partial<Record<Window, ExpectedMerge>>> = {
  "coordinator-after-worker": { suffix: ": b,c,a of 3", givenUp: [] },
  "merge-of-all": { suffix: ": c,a,b of 3", givenUp: [] },
  "merge-of-some": { suffix: ": c,b of 2", givenUp: ["a"] },
};

/**
 * How it ended, by the kernel's own recovery report:
 * `performed`: called once, nothing had to be repeated; `retried`: called again under the same key; `reconciled`: its outcome
 * was looked up; `skipped`: it was complete before the kill, and nothing ran again; `not-performed`: nobody allowed it in time;
 * `needs-review`: a person must say.
 */
export type Outcome =
  | "performed"
  | "retried"
  | "reconciled"
  | "skipped"
  | "not-performed"
  | "needs-review";

/** What must come out, and what the sink's own books must show. */
export interface Expected {
  readonly outcome: Outcome;
  /** Calls that arrived at the sink, also those cut before their effect. */
  readonly sinkCalls: number;
  /** Tickets made. */
  readonly sinkEffects: number;
}

const expect = (outcome: Outcome, sinkCalls: number, sinkEffects: number): Expected => ({
  outcome,
  sinkCalls,
  sinkEffects,
});

type BySink = Readonly<Record<SinkMode, Expected>>;

/** The caller died, and its request was lost on the way. */
const lostBefore: BySink = {
  idempotent: expect("retried", 2, 1),
  reconcilable: expect("retried", 2, 1),
  opaque: expect("needs-review", 1, 0),
};

/** The caller died after the effect, before it was told. */
const lostAfter: BySink = {
  idempotent: expect("retried", 2, 1),
  reconcilable: expect("reconciled", 1, 1),
  opaque: expect("needs-review", 1, 1),
};

const everywhere = (expected: Expected): BySink => ({
  idempotent: expected,
  reconcilable: expected,
  opaque: expected,
});

/** It was recorded as complete before the kill. */
const skipped = everywhere(expect("skipped", 1, 1));

/** No call was under way, or the worker lived, which knows how its call ended and tells the next kernel. */
const performed = everywhere(expect("performed", 1, 1));

/** What must come out of each window, for each kind of sink. Written by hand. */
export const expectations: Readonly<Record<Window, BySink>> = {
  "before-sink": lostBefore,
  "after-sink": lostAfter,
  "after-completion": skipped,
  "kernel-before-segment": performed,
  "kernel-after-segment": performed,
  "kernel-checkpoint": performed,
  "kernel-start": performed,
  both: lostAfter,
  "single-before-sink": lostBefore,
  "single-after-sink": lostAfter,
  "single-after-completion": skipped,
  "coordinator-after-worker": performed,
  "merge-of-all": performed,
  "merge-of-some": performed,
  "approval-pending": performed,
  "approved-not-consumed": performed,
  "consumed-not-performed": lostBefore,
  "content-changed": performed,
  "expired-while-down": everywhere(expect("not-performed", 0, 0)),
  "two-approvers": performed,
};

import type { FollowUps } from "./follow-up.js";

/** What a step is made with. */
type Steps = (followUps: FollowUps) => readonly string[];

const readAgain = "Read it again, then decide anew by what it says now.";

/** What may be done after a refusal, by its reason: sentences, or commands as they are typed. docs/errors has a page for each. */
const steps: Readonly<Record<string, Steps>> = {
  PAWL_ANSWER_REFUSED: (f) => [
    "Correct the answer by the schema of the question.",
    f.command("inputs list"),
  ],
  PAWL_BLOB_NOT_FOUND: () => ["Ask with the run and the hash of one and the same reference."],
  PAWL_CREDENTIAL_IN_PAYLOAD: () => [
    "Put a reference in its place, as secretRef makes it, and give the command again.",
    "What only looks like a credential is let through by the namespace's policy: pawl namespace credentials NAME allow.",
  ],
  PAWL_DATA_LOSS: (f) => [
    "Leave the decision to whoever operates the kernel: a better copy of its folder, or pawl restore.",
    f.command("info"),
  ],
  PAWL_DISK_LOW: (f) => [
    "Free some space on the kernel's disk; running work goes on meanwhile.",
    f.command("info"),
  ],
  PAWL_FINGERPRINT_CONFLICT: () => [
    "Give another content another id; the same request is built from the same values.",
  ],
  PAWL_ILLEGAL_TRANSITION: (f) => [readAgain, f.command("reviews list")],
  PAWL_INPUT_NOT_FOUND: (f) => [f.command("inputs list")],
  PAWL_INTERNAL: (f) => [
    "Report it with what the kernel's log says. A run that was set aside has a review.",
    f.command("reviews list"),
  ],
  PAWL_INVALID_FIELD: () => [
    "Correct what is named above, and give the command again; --help names the bounds.",
  ],
  PAWL_INVALID_PAGE_TOKEN: () => ["List again from the beginning."],
  PAWL_INVALID_POSITION: () => ["Watch again without a position."],
  PAWL_LEASE_LOST: () => ["Leave the task: another attempt has it, or it has ended."],
  PAWL_NAMESPACE_NOT_FOUND: (f) => [f.command("namespace list")],
  PAWL_NOT_ENTITLED: () => [
    "Ask one of those whom the message names, or use a token of one of them.",
    "A kernel without tokens knows nobody but local: pawl token create makes it tell people apart.",
  ],
  PAWL_NO_CURRENT_VERSION: (f) => [
    "Set one, pawl version set WORKFLOW VERSION, then start again; or name a version.",
    f.command("version list"),
  ],
  PAWL_OPERATIONS_UNSETTLED: (f) => [
    "Settle its operations first: resolve their reviews.",
    f.command("reviews list"),
  ],
  PAWL_OPERATION_NOT_FOUND: (f) => [f.command("op list")],
  PAWL_OVERLOADED: (f) => [f.command("info")],
  PAWL_PERMISSION_DENIED: () => [
    "Use a token that has the role (--token-file), or have one made: pawl token create.",
  ],
  PAWL_POSITION_TRIMMED: (f) => [
    "Watch again without a position, and read what came before.",
    f.command("run list"),
  ],
  PAWL_PLAN_NOT_FOUND: () => ["See which versions there are: pawl plan list RUN."],
  PAWL_PREDECESSOR_UNSETTLED: (f) => [
    "Wait until the earlier effect is settled, or settle it in its review.",
    f.command("reviews list"),
  ],
  PAWL_PROPOSAL_CLOSED: (f) => [
    "What was rejected, expired, revoked or stale must be proposed anew.",
    f.command("approvals list"),
  ],
  PAWL_PROPOSAL_NOT_FOUND: (f) => [f.command("approvals list")],
  PAWL_PROPOSALS_OPEN: (f) => [
    "Decide what is proposed, or withdraw it, before the run continues as new.",
    f.command("approvals list"),
  ],
  PAWL_QUERY_NOT_FOUND: () => [
    "Ask again later, or list what is published: pawl run query RUN, without a name.",
  ],
  PAWL_READ_ONLY: (f) => [
    "Give the same command again once whoever operates the kernel has decided.",
    f.command("info"),
  ],
  PAWL_REVIEW_NOT_FOUND: (f) => [f.command("reviews list")],
  PAWL_ROLLBACKS_RECORDED: () => [
    "Do what may have to be undone in a workflow that is called, and await it before the run continues as new.",
  ],
  PAWL_RUN_DELETED: () => ["Use another id for new work: nothing of a deleted run is served."],
  PAWL_OPERATION_DELETED: () => [
    "Use another key for new work: this one was used, and what was recorded of it is gone.",
  ],
  PAWL_LEGAL_HOLD: (f) => [
    "Have whoever may do so end the hold: pawl hold end.",
    f.command("namespace retention show"),
  ],
  PAWL_RUN_NEEDED: (f) => [
    "Delete it when what the message names needs it no more.",
    f.command("reviews list"),
  ],
  PAWL_ROLLED_BACK: () => ["Start the work anew under another run id."],
  PAWL_RUN_EXISTS: () => ["Use another id, or start without --on-existing refuse."],
  PAWL_RUN_NOT_FOUND: (f) => [f.command("run list")],
  PAWL_RUN_OVER: (f) => [
    "To do the work again, start it under another id, or with --on-existing restart-closed.",
    f.command("run list"),
  ],
  PAWL_STALE_INTENT: () => ["Leave it: the latest call tells the outcome."],
  PAWL_STALE_VERSION: () => [readAgain],
  PAWL_STORE_DAMAGED: () => [
    "Keep a copy of the kernel's data folder as it is, and have it verified: pawl doctor, pawl verify.",
  ],
  PAWL_STORE_FAILED: () => ["Look at the disk and at the kernel's log, then start it again."],
  PAWL_STORE_REWOUND: (f) => [
    "Read anew, then watch again without a position.",
    f.command("run list"),
  ],
  PAWL_TASK_NOT_FOUND: () => ["Name a task as pawl run show lists it."],
  PAWL_TOO_EARLY: () => ["Wait as long as is said, then give the same command again."],
  PAWL_TOO_LARGE: () => [
    "Ask for less at once, or keep the content elsewhere and pass a reference.",
  ],
  PAWL_UNAUTHENTICATED: () => [
    "Name the file of a token that counts: --token-file FILE, or PAWL_TOKEN. pawl token list shows which do.",
  ],
  PAWL_UNAVAILABLE: (f) => [f.command("info")],
  PAWL_UPDATE_NOT_FOUND: () => [
    "Send the update with its id and content: it is attached to, when it came.",
  ],
  PAWL_WATCHER_TOO_SLOW: () => [
    "Watch again from the position that the message names, and read faster.",
  ],
};

/** True for a reason of which this command knows what may be done after it. */
export function isKnownReason(reason: string): boolean {
  return Object.hasOwn(steps, reason);
}

/** What may be done after a refusal. Of a reason that a newer kernel gives, what always holds. */
export function nextAfter(reason: string, followUps: FollowUps): readonly string[] {
  const known = isKnownReason(reason) ? steps[reason] : undefined;
  return (
    known?.(followUps) ?? ["This pawl does not know the reason: use one as new as the kernel."]
  );
}

/** Where a proposal stands. */
export type ProposalStatusName =
  | "pending"
  | "approved"
  | "rejected"
  | "expired"
  | "withdrawn"
  | "superseded"
  | "consumed"
  | "revoked"
  | "stale";

/** What one person decided. */
export interface ProposalDecisionInfo {
  readonly verdict: "approve" | "reject";
  /** Who, as the connection proved. */
  readonly principal: string;
  /** False: the kernel asked for no credentials, so anybody on its machine may have been it. */
  readonly authenticated: boolean;
  readonly roles: readonly string[];
  readonly reason: string;
  readonly at: Date;
}

/** A proposal as people see it. */
export interface ProposalInfo {
  /** Id, unique in the store. */
  readonly proposalId: string;
  /** Run that holds it. Empty for an operation of scope `namespace`. */
  readonly runId: string;
  /** Task that proposed it. */
  readonly task: string;
  /** Name of the operation that it would authorise. */
  readonly operation: string;
  /** Key of that operation. */
  readonly operationKey: string;
  /** What it would act on. */
  readonly target: string;
  /** The content, decoded, as it will be sent. Undefined in lists, and when it is stored apart. */
  readonly content: unknown;
  /** What a decision restates: 64 hex digits. */
  readonly fingerprint: string;
  readonly status: ProposalStatusName;
  /** 1 while it is pending; rises with each change of state. */
  readonly version: number;
  /** Who proposed it. */
  readonly requester: string;
  /** Who may decide: `user:NAME` and `role:NAME`. */
  readonly from: readonly string[];
  /** How many of them must approve. */
  readonly need: number;
  readonly proposedAt: Date;
  readonly expiresAt: Date;
  readonly decisions: readonly ProposalDecisionInfo[];
  /** Id of the proposal that it revises. Undefined: none. */
  readonly revises: string | undefined;
  /** Id of the proposal that took its place. Undefined: none. */
  readonly revisedBy: string | undefined;
  /** Advice for people; not part of what is approved. */
  readonly title: string;
  readonly note: string;
  readonly facts: Readonly<Record<string, string>>;
  /** Why it ended; may be empty. */
  readonly endReason: string;
  /** A sentence: where it stands, whom it waits for, and what may be done next. */
  readonly explanation: string;
}

/** What a decision is about: what was shown. */
export type ShownProposal = Pick<ProposalInfo, "proposalId" | "fingerprint" | "version">;

/** What a list is narrowed to. */
export interface ListApprovalsOptions {
  /** Only those of this run. */
  readonly runId?: string;
  /** Only those in this state. Default: pending, or with `runId` all. */
  readonly status?: ProposalStatusName;
  /** Only those that this `user:NAME` or `role:NAME` may decide. */
  readonly addressee?: string;
}

/** One change of one proposal. */
export interface ProposalChangeInfo {
  readonly proposalId: string;
  readonly runId: string;
  readonly operation: string;
  readonly target: string;
  readonly status: ProposalStatusName;
  /** Give it as `after` to go on behind this change. Undefined within a group that became durable together, but for the last. */
  readonly position: string | undefined;
}

/** What a watch is narrowed to, and where it begins. Default: now. */
export interface WatchApprovalsOptions {
  /** Only those that this `user:NAME` or `role:NAME` may decide. */
  readonly addressee?: string;
  /** `position` of a change seen before. */
  readonly after?: string;
  /** First what is pending already, then what happens. One that changes in between may be told twice. Default false. */
  readonly current?: boolean;
  /** Ends the watch when it aborts. */
  readonly signal?: AbortSignal;
}

/** Actions that people must allow first, for those who decide. */
export interface Approvals {
  /** Proposals, oldest first by their runs' age, without contents. */
  list(options?: ListApprovalsOptions): AsyncIterable<ProposalInfo>;
  /** One proposal, with its content. */
  get(proposalId: string): Promise<ProposalInfo>;
  /**
   * Approves what was shown. The same again is the same. The answer is where it stands now: pending while more must approve.
   *
   * @throws Conflict (another action was shown), Rejected `PAWL_PROPOSAL_CLOSED`, `PAWL_NOT_ENTITLED`, `PAWL_STALE_VERSION`, NotFound.
   */
  approve(
    shown: ShownProposal,
    options?: { readonly reason?: string },
  ): Promise<ProposalStatusName>;
  /** Rejects what was shown. */
  reject(shown: ShownProposal, options: { readonly reason: string }): Promise<ProposalStatusName>;
  /** Takes an approval back that was not used. */
  revoke(
    proposal: Pick<ProposalInfo, "proposalId" | "version">,
    options: { readonly reason: string },
  ): Promise<void>;
  /** Takes a pending proposal back. */
  withdraw(
    proposal: Pick<ProposalInfo, "proposalId" | "version">,
    options?: { readonly reason?: string },
  ): Promise<void>;
  /** Waits until a proposal is decided or ends otherwise. Survives restarts of the kernel. */
  await(proposalId: string, options?: { readonly signal?: AbortSignal }): Promise<ProposalInfo>;
  /**
   * What happens to proposals, from a position on (default: from now), without gaps or repeats. Ends with its signal, or when the loop is left.
   *
   * @throws DefinitionInvalid for `current` together with `after`.
   */
  watch(options?: WatchApprovalsOptions): AsyncIterable<ProposalChangeInfo>;
}

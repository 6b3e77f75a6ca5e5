import type { Duration } from "./duration.js";

/** Something that must still hold when the approval is used; otherwise `perform` throws `ApprovalStale`. */
export type ApprovalGuard =
  /** A version or digest of what the action rests on. A function is asked again when the approval is used. 1 to 1,024 bytes. */
  | { readonly name: string; readonly value: string | (() => string | Promise<string>) }
  /** A read of this task that must not be older when the approval is used. */
  | { readonly read: string; readonly key?: string; readonly maxAge: Duration };

/** What people are shown besides the action itself. Not part of what is approved. */
export interface ApprovalDisplay {
  /** A line. At most 200 bytes. */
  readonly title?: string;
  /** What a person should know. At most 4,000 bytes. */
  readonly note?: string;
  /** Facts, in the order to show them. At most 32. */
  readonly facts?: Readonly<Record<string, string>>;
}

/** How an action is proposed. */
export interface ApproveOptions {
  /** What would be acted on. Part of what is approved. At most 1,024 bytes. */
  readonly target: string;
  /** Who may decide: `user:NAME` and `role:NAME`, at most 20. Default `role:approver`. */
  readonly from?: readonly string[];
  /** How many of them must approve. Default 1, at most 20. */
  readonly need?: number;
  /** True: whoever proposes, or started the run, may be one of them. Default false. */
  readonly requesterMayDecide?: boolean;
  /** For how long it may be decided and used. Default 7 days, at most 10 years. */
  readonly expiresIn?: Duration;
  /** What must still hold when the approval is used. At most 32. */
  readonly guards?: readonly ApprovalGuard[];
  /** An answer to an earlier proposal of the same operation, which this one replaces. */
  readonly revises?: Said<unknown>;
  /** Tells several actions of one operation apart. 1 to 200 bytes. */
  readonly key?: string;
  /** How far the identity of the operation reaches. Default `task`. */
  readonly scope?: "task" | "run";
  /** Advice for people. */
  readonly display?: ApprovalDisplay;
}

/** What every answer to a proposal says. */
interface Answered {
  /** Id of the proposal. */
  readonly proposalId: string;
  /** Who decided last, as the connection proved. Empty when nobody did. */
  readonly principal: string;
  /** Why, as it was said. May be empty. */
  readonly reason: string;
}

/** The action was approved. */
export interface Approved<Result> extends Answered {
  readonly status: "approved";
  /**
   * Performs exactly what was approved, once; afterwards gives the recorded result.
   *
   * @throws ApprovalStale, ApprovalRevoked, ApprovalExpired; and what `ctx.perform` throws.
   */
  perform(): Promise<Result>;
}

/** The action was not approved: somebody said no, nobody decided in time, or it was taken back or replaced. */
export interface Denied extends Answered {
  readonly status: "rejected" | "expired" | "withdrawn";
}

/** What became of a proposal. */
export type Said<Result> = Approved<Result> | Denied;

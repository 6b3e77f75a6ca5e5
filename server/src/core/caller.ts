import type { Rejection } from "./rejection.js";

/**
 * Who gives commands, as the connection proved; never something that a request says. One object per credential and namespace, shared
 * by all commands and never changed, so that a command costs nothing for it.
 */
export interface Caller {
  /**
   * Name of the principal; `local` for whoever connects to a kernel that asks for no credentials; empty for the kernel itself. It
   * is what events record.
   */
  readonly principal: string;
  /**
   * Roles in the namespace of the command: those that open methods (`worker`, `client`, `approver`, `operator`, `admin`) and those
   * that only approvals ask for (`finance`).
   */
  readonly roles: readonly string[];
  /** False for `local`: anybody on the machine may be it, so it counts as nobody in particular. */
  readonly authenticated: boolean;
  /** Why its credential counts no more; undefined while it does. Absent for whoever has none. */
  readonly ended?: () => Rejection | undefined;
}

/** Name of the unauthenticated principal. No credential can bear it. */
export const localPrincipal = "local";

/** Whoever connects to a kernel that asks for no credentials. It may call everything, and has proved nothing. */
export const localCaller: Caller = {
  principal: localPrincipal,
  roles: ["worker", "client", "approver", "operator", "admin"],
  authenticated: false,
};

/** The kernel itself: deadlines, leases, what follows from events. */
export const kernelCaller: Caller = { principal: "", roles: [], authenticated: true };

/**
 * What a principal may do now, for decisions that rest on what it did earlier (an approval counts only while its approver still
 * stands). Undefined: no live credential lets it decide in that namespace.
 */
export type StandingOf = (namespace: string, principal: string) => readonly string[] | undefined;

/** Standing where no credentials are asked for: only `local` has any. */
export const localStanding: StandingOf = (_namespace, principal) =>
  principal === localPrincipal ? localCaller.roles : undefined;

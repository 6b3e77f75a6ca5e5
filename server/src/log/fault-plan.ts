/** How tests make a store fail, at a call of their choice. The product opens stores without a plan. */

/** What a store call does. */
export type StoreVerb = "append" | "putRows" | "get" | "read" | "compact";

/** One call, as the plan sees it. */
export interface StoreCall {
  readonly verb: StoreVerb;
  /** Counts the calls of one plan's store from 1, over all verbs. */
  readonly number: number;
  /** Counts the calls of this verb from 1. */
  readonly numberOfVerb: number;
  /** Bytes of the values to be written; 0 for reads. */
  readonly bytes: number;
}

/**
 * What becomes of a call: `ok` goes through; `fail` and `enospc` do nothing and end in an I/O error or "no space
 * left"; `unknown-kept` takes effect but ends in an error, `unknown-lost` does not and ends in the same error, as a
 * failed sync does. For reads the last four are all an I/O error.
 */
export type Fault = "ok" | "fail" | "enospc" | "unknown-kept" | "unknown-lost";

/** Decides the fate of every call. A hook may also end its own process: that is a crash point. */
export interface FaultPlan {
  before(call: StoreCall): Fault;
  /** Called when the call has taken effect, before its caller is told. */
  after?(call: StoreCall): void;
}

/** A plan that lets everything through but the `number`-th call of one verb. */
export function failNth(verb: StoreVerb, number: number, fault: Exclude<Fault, "ok">): FaultPlan {
  return {
    before: (call) => (call.verb === verb && call.numberOfVerb === number ? fault : "ok"),
  };
}

/** The system error that a fault ends in. */
export function faultError(fault: Exclude<Fault, "ok">): Error & { readonly code: string } {
  return fault === "enospc"
    ? Object.assign(new Error("no space left on device"), { code: "ENOSPC" })
    : Object.assign(new Error("input/output error"), { code: "EIO" });
}

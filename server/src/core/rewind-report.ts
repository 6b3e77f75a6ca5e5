/** A record that is not given to code any more. */
export interface DroppedRecord {
  readonly kind: "step" | "read" | "wait" | "input" | "approval";
  readonly task: string;
  readonly name: string;
  readonly key: string | undefined;
}

/** An operation of which code is told, when it asks for it again, what it came to. */
export interface CarriedOperation {
  readonly operationKey: string;
  /** Its state, in capitals. */
  readonly status: string;
}

/** A message that is unread again, or was taken and is not given again. */
export interface ReturnedMessage {
  readonly kind: "signal" | "update";
  readonly name: string;
  readonly requestId: string;
  readonly isUnread: boolean;
}

/** A child that was started after the point. */
export interface LeftChild {
  readonly runId: string;
  readonly isOpen: boolean;
}

/** What becomes of a run that goes on from an earlier point. */
export interface RewindReport {
  readonly generation: number;
  readonly reopened: readonly { readonly task: string; readonly keepThrough: number }[];
  readonly gone: readonly string[];
  readonly dropped: readonly DroppedRecord[];
  readonly operations: readonly CarriedOperation[];
  readonly messages: readonly ReturnedMessage[];
  readonly children: readonly LeftChild[];
  /** Numbers of the proposals that end. */
  readonly endedProposals: readonly number[];
  /** True when the parent was told of the end that is undone. */
  readonly toldParent: boolean;
}

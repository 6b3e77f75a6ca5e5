import { wordsOf } from "./command-words.js";

/** Every reason for which the core refuses a command. One page each in docs/errors. */
export type RejectionReason =
  | "PAWL_UNAUTHENTICATED"
  | "PAWL_PERMISSION_DENIED"
  | "PAWL_INVALID_FIELD"
  | "PAWL_NAMESPACE_NOT_FOUND"
  | "PAWL_RUN_NOT_FOUND"
  | "PAWL_TASK_NOT_FOUND"
  | "PAWL_OPERATION_NOT_FOUND"
  | "PAWL_REVIEW_NOT_FOUND"
  | "PAWL_PROPOSAL_NOT_FOUND"
  | "PAWL_BLOB_NOT_FOUND"
  | "PAWL_INPUT_NOT_FOUND"
  | "PAWL_UPDATE_NOT_FOUND"
  | "PAWL_QUERY_NOT_FOUND"
  | "PAWL_PLAN_NOT_FOUND"
  | "PAWL_ANSWER_REFUSED"
  | "PAWL_FINGERPRINT_CONFLICT"
  | "PAWL_RUN_EXISTS"
  | "PAWL_NO_CURRENT_VERSION"
  | "PAWL_RUN_DELETED"
  | "PAWL_OPERATION_DELETED"
  | "PAWL_LEGAL_HOLD"
  | "PAWL_RUN_NEEDED"
  | "PAWL_STALE_VERSION"
  | "PAWL_STALE_INTENT"
  | "PAWL_LEASE_LOST"
  | "PAWL_RUN_OVER"
  | "PAWL_CREDENTIAL_IN_PAYLOAD"
  | "PAWL_ILLEGAL_TRANSITION"
  | "PAWL_PROPOSAL_CLOSED"
  | "PAWL_NOT_ENTITLED"
  | "PAWL_OPERATIONS_UNSETTLED"
  | "PAWL_PREDECESSOR_UNSETTLED"
  | "PAWL_PROPOSALS_OPEN"
  | "PAWL_ROLLBACKS_RECORDED"
  | "PAWL_ROLLED_BACK"
  | "PAWL_TOO_EARLY"
  | "PAWL_TOO_LARGE"
  | "PAWL_OVERLOADED"
  | "PAWL_DISK_LOW"
  | "PAWL_INVALID_POSITION"
  | "PAWL_POSITION_TRIMMED"
  | "PAWL_STORE_REWOUND"
  | "PAWL_WATCHER_TOO_SLOW"
  | "PAWL_INVALID_PAGE_TOKEN"
  | "PAWL_STORE_DAMAGED"
  | "PAWL_DATA_LOSS"
  | "PAWL_READ_ONLY"
  | "PAWL_UNAVAILABLE"
  | "PAWL_INTERNAL";

/** What differs, in the terms of `pawl.v1.Rejection`. */
export type RejectionDetail =
  | {
      readonly case: "invalidField";
      readonly value: { field: string; expected: string; actual: string };
    }
  | { readonly case: "notFound"; readonly value: { entity: string; id: string } }
  | {
      readonly case: "fingerprintConflict";
      readonly value: {
        entity: string;
        id: string;
        recorded: Uint8Array;
        received: Uint8Array;
        differs: string;
      };
    }
  | {
      readonly case: "staleVersion";
      readonly value: { entity: string; expected: number; actual: number };
    }
  | {
      readonly case: "leaseLost";
      readonly value: { held: number; current: number; status: string; cause: string };
    }
  | {
      readonly case: "illegalTransition";
      readonly value: { entity: string; status: string; command: string; legal: string[] };
    }
  | {
      readonly case: "predecessorUnsettled";
      readonly value: {
        operationKey: string;
        status: string;
        planVersion: number;
        retryAfterMs: number;
      };
    }
  | { readonly case: "overloaded"; readonly value: { resource: string; bound: string } }
  | {
      readonly case: "storeRewound";
      readonly value: { positionEpoch: number; storeEpoch: number; keptSequence: bigint };
    }
  | {
      readonly case: "runExists";
      readonly value: { runId: string; incarnation: number; status: string };
    }
  | {
      readonly case: "deleted";
      readonly value: {
        entity: string;
        id: string;
        deletedAtMs: number;
        tombstoneUntilMs: number;
      };
    }
  | {
      readonly case: "held";
      readonly value: {
        entity: string;
        id: string;
        principal: string;
        reason: string;
        atMs: number;
      };
    }
  | {
      readonly case: "needed";
      readonly value: { id: string; by: string; name: string; untilMs: number };
    }
  | {
      readonly case: "dataLoss";
      readonly value: { acknowledgedSequence: bigint; durableSequence: bigint };
    }
  | {
      readonly case: "notEntitled";
      readonly value: { principal: string; roles: string[]; from: string[]; isRequester: boolean };
    }
  | {
      readonly case: "credentialInPayload";
      readonly value: { field: string; path: string; rule: string };
    }
  | {
      readonly case: "permissionDenied";
      readonly value: { method: string; namespace: string; principal: string; roles: string[] };
    };

/** A refusal. Nothing was changed. */
export interface Rejection {
  readonly reason: RejectionReason;
  /** Expected …, but …; and what to do next. */
  readonly message: string;
  readonly detail?: RejectionDetail;
  /** Set exactly when the same request may be sent again: after this many ms. */
  readonly retryAfterMs?: number;
}

/** Builds the refusal of a bad value. */
export function invalidField(field: string, expected: string, actual: string): Rejection {
  return {
    reason: "PAWL_INVALID_FIELD",
    message: `Expected ${field} to be ${expected}, but it is ${actual}. Next: correct it and send the request again.`,
    detail: { case: "invalidField", value: { field, expected, actual } },
  };
}

/** Kinds of things that may be absent. */
export type FindableEntity =
  | "namespace"
  | "run"
  | "task"
  | "operation"
  | "review"
  | "proposal"
  | "blob"
  | "input"
  | "update"
  | "query"
  | "plan";

const notFoundReasons: Readonly<Record<FindableEntity, RejectionReason>> = {
  namespace: "PAWL_NAMESPACE_NOT_FOUND",
  run: "PAWL_RUN_NOT_FOUND",
  task: "PAWL_TASK_NOT_FOUND",
  operation: "PAWL_OPERATION_NOT_FOUND",
  review: "PAWL_REVIEW_NOT_FOUND",
  proposal: "PAWL_PROPOSAL_NOT_FOUND",
  blob: "PAWL_BLOB_NOT_FOUND",
  input: "PAWL_INPUT_NOT_FOUND",
  update: "PAWL_UPDATE_NOT_FOUND",
  query: "PAWL_QUERY_NOT_FOUND",
  plan: "PAWL_PLAN_NOT_FOUND",
};

/** Builds the refusal of something that does not exist. */
export function notFound(entity: FindableEntity, id: string): Rejection {
  return {
    reason: notFoundReasons[entity],
    message: `Expected the ${entity} "${id}" to exist, but there is none. Next: check the id and the namespace.`,
    detail: { case: "notFound", value: { entity, id } },
  };
}

/** Builds the refusal of a stale expected version. */
export function staleVersion(entity: string, expected: number, actual: number): Rejection {
  return {
    reason: "PAWL_STALE_VERSION",
    message: `Expected version ${expected} of the ${entity}, but it is ${actual}. Next: read it again and decide anew.`,
    detail: { case: "staleVersion", value: { entity, expected, actual } },
  };
}

/** Parts of a fingerprint conflict. */
export interface Conflict {
  readonly entity: string;
  readonly id: string;
  readonly recorded: Uint8Array;
  readonly received: Uint8Array;
  readonly differs: string;
}

/** What is answered once: a second answer has no other identity that it could take. */
const givenOnce: Readonly<Record<string, { readonly what: string; readonly stays: string }>> = {
  input: {
    what: "question",
    stays:
      "It was answered already, and that answer stays. Next: read it (client.inputs.get, pawl run history).",
  },
  review: {
    what: "review",
    stays: "The recorded decision stays. Next: read it (client.reviews.get, pawl reviews show).",
  },
};

/** Builds the refusal of the same identity with another content. */
export function fingerprintConflict(conflict: Conflict): Rejection {
  const { entity, id, differs } = conflict;
  const given = givenOnce[entity];
  const message =
    given === undefined
      ? `Expected the ${entity} "${id}" to be asked for with the recorded ${differs}, but it differs. The recorded one stays. Next: build the same request from the same values, or use another id for another one.`
      : `Expected ${given.what} ${id} to be given the ${differs} that is recorded, but this is another one. ${given.stays}`;
  return {
    reason: "PAWL_FINGERPRINT_CONFLICT",
    message,
    detail: { case: "fingerprintConflict", value: { ...conflict } },
  };
}

/** Parts of an illegal transition. */
export interface IllegalTransitionParts {
  readonly entity: string;
  readonly status: string;
  readonly command: string;
  readonly legal: readonly string[];
}

/** Builds the refusal of a command that the present state does not allow. */
export function illegalTransition(
  reason: RejectionReason,
  parts: IllegalTransitionParts,
  message?: string,
): Rejection {
  const next =
    parts.legal.length === 0
      ? "leave it as it is: this state is final"
      : `read it again; what may follow is ${parts.legal.join(", ")}`;
  return {
    reason,
    message:
      message ??
      `Expected a ${parts.entity} that allows ${wordsOf(parts.command)}, but it is ${parts.status}. Next: ${next}.`,
    detail: { case: "illegalTransition", value: { ...parts, legal: [...parts.legal] } },
  };
}

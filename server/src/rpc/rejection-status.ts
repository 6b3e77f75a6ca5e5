import { create, type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { anyPack, DurationSchema } from "@bufbuild/protobuf/wkt";
import { ErrorInfoSchema, RetryInfoSchema } from "@pawl/proto/google/rpc/error_details_pb.js";
import { StatusSchema } from "@pawl/proto/google/rpc/status_pb.js";
import { RejectionSchema } from "@pawl/proto/v1/rejection_pb.js";
import type { Rejection, RejectionReason } from "../core/rejection.js";
import { cutText, rejectionShape } from "./rejection-shape.js";

/** The gRPC status codes that Pawl answers with, by their numbers, which Connect shares. */
export const statusCodes = {
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

/** A status code that Pawl answers with. */
export type StatusCode = (typeof statusCodes)[keyof typeof statusCodes];

/**
 * The one table from reason to code. Too large has a reason of its own, and a code other than overload's: the first is
 * never to be sent again as it is, the second is.
 */
export const codeByReason: Readonly<Record<RejectionReason, StatusCode>> = {
  PAWL_UNAUTHENTICATED: statusCodes.UNAUTHENTICATED,
  PAWL_PERMISSION_DENIED: statusCodes.PERMISSION_DENIED,
  PAWL_INVALID_FIELD: statusCodes.INVALID_ARGUMENT,
  PAWL_TOO_LARGE: statusCodes.INVALID_ARGUMENT,
  PAWL_INVALID_POSITION: statusCodes.INVALID_ARGUMENT,
  PAWL_INVALID_PAGE_TOKEN: statusCodes.INVALID_ARGUMENT,
  PAWL_NAMESPACE_NOT_FOUND: statusCodes.NOT_FOUND,
  PAWL_RUN_NOT_FOUND: statusCodes.NOT_FOUND,
  PAWL_TASK_NOT_FOUND: statusCodes.NOT_FOUND,
  PAWL_OPERATION_NOT_FOUND: statusCodes.NOT_FOUND,
  PAWL_REVIEW_NOT_FOUND: statusCodes.NOT_FOUND,
  PAWL_BLOB_NOT_FOUND: statusCodes.NOT_FOUND,
  PAWL_PROPOSAL_NOT_FOUND: statusCodes.NOT_FOUND,
  PAWL_UPDATE_NOT_FOUND: statusCodes.NOT_FOUND,
  PAWL_QUERY_NOT_FOUND: statusCodes.NOT_FOUND,
  PAWL_INPUT_NOT_FOUND: statusCodes.NOT_FOUND,
  PAWL_CREDENTIAL_IN_PAYLOAD: statusCodes.INVALID_ARGUMENT,
  PAWL_PLAN_NOT_FOUND: statusCodes.NOT_FOUND,
  PAWL_ANSWER_REFUSED: statusCodes.INVALID_ARGUMENT,
  PAWL_FINGERPRINT_CONFLICT: statusCodes.ALREADY_EXISTS,
  PAWL_RUN_EXISTS: statusCodes.ALREADY_EXISTS,
  PAWL_NO_CURRENT_VERSION: statusCodes.FAILED_PRECONDITION,
  PAWL_RUN_DELETED: statusCodes.NOT_FOUND,
  PAWL_OPERATION_DELETED: statusCodes.NOT_FOUND,
  PAWL_LEGAL_HOLD: statusCodes.FAILED_PRECONDITION,
  PAWL_RUN_NEEDED: statusCodes.FAILED_PRECONDITION,
  PAWL_STALE_VERSION: statusCodes.FAILED_PRECONDITION,
  PAWL_STALE_INTENT: statusCodes.FAILED_PRECONDITION,
  PAWL_PROPOSAL_CLOSED: statusCodes.FAILED_PRECONDITION,
  PAWL_NOT_ENTITLED: statusCodes.PERMISSION_DENIED,
  PAWL_LEASE_LOST: statusCodes.FAILED_PRECONDITION,
  PAWL_RUN_OVER: statusCodes.FAILED_PRECONDITION,
  PAWL_ILLEGAL_TRANSITION: statusCodes.FAILED_PRECONDITION,
  PAWL_OPERATIONS_UNSETTLED: statusCodes.FAILED_PRECONDITION,
  PAWL_PREDECESSOR_UNSETTLED: statusCodes.FAILED_PRECONDITION,
  PAWL_PROPOSALS_OPEN: statusCodes.FAILED_PRECONDITION,
  PAWL_ROLLBACKS_RECORDED: statusCodes.FAILED_PRECONDITION,
  PAWL_ROLLED_BACK: statusCodes.FAILED_PRECONDITION,
  PAWL_TOO_EARLY: statusCodes.FAILED_PRECONDITION,
  PAWL_OVERLOADED: statusCodes.RESOURCE_EXHAUSTED,
  PAWL_DISK_LOW: statusCodes.RESOURCE_EXHAUSTED,
  PAWL_WATCHER_TOO_SLOW: statusCodes.RESOURCE_EXHAUSTED,
  PAWL_POSITION_TRIMMED: statusCodes.OUT_OF_RANGE,
  PAWL_STORE_REWOUND: statusCodes.ABORTED,
  PAWL_UNAVAILABLE: statusCodes.UNAVAILABLE,
  PAWL_INTERNAL: statusCodes.INTERNAL,
  PAWL_STORE_DAMAGED: statusCodes.DATA_LOSS,
  PAWL_DATA_LOSS: statusCodes.DATA_LOSS,
  PAWL_READ_ONLY: statusCodes.UNAVAILABLE,
};

/** Domain of Pawl's reasons in `google.rpc.ErrorInfo`. */
export const errorDomain = "pawl";

/** One detail of an error, still in its parts: gRPC packs it into an `Any`, Connect takes it as it is. */
export interface StatusDetail {
  readonly desc: DescMessage;
  readonly value: Message;
}

/** The details of an error: ErrorInfo, the Rejection, and RetryInfo exactly when the same request may be sent again. */
export function detailsOf(rejection: Rejection): StatusDetail[] {
  const { reason, retryAfterMs } = rejection;
  const details: StatusDetail[] = [
    { desc: ErrorInfoSchema, value: create(ErrorInfoSchema, { reason, domain: errorDomain }) },
    { desc: RejectionSchema, value: create(RejectionSchema, rejectionShape(rejection)) },
  ];
  if (retryAfterMs !== undefined) {
    const retryDelay = create(DurationSchema, {
      seconds: BigInt(Math.floor(retryAfterMs / 1000)),
      nanos: Math.round((retryAfterMs % 1000) * 1e6),
    });
    details.push({ desc: RetryInfoSchema, value: create(RetryInfoSchema, { retryDelay }) });
  }
  return details;
}

/** The encoded `google.rpc.Status`: what the trailer `grpc-status-details-bin` holds. */
export function encodeStatus(rejection: Rejection): Uint8Array {
  const status = create(StatusSchema, {
    code: codeByReason[rejection.reason],
    message: cutText(rejection.message),
    details: detailsOf(rejection).map(({ desc, value }) => anyPack(desc, value)),
  });
  return toBinary(StatusSchema, status);
}

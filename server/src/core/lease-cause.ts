import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";

const lostCauses: Readonly<Record<LeaseEndReason, string>> = {
  [LeaseEndReason.UNSPECIFIED]: "returned",
  [LeaseEndReason.EXPIRED]: "expired",
  [LeaseEndReason.NOT_ACKNOWLEDGED]: "not-acknowledged",
  [LeaseEndReason.RETURNED]: "returned",
  [LeaseEndReason.NOT_HELD]: "returned",
  [LeaseEndReason.TIMED_OUT]: "timed-out",
  [LeaseEndReason.REVIEW]: "review",
  [LeaseEndReason.GRACE_OVER]: "cancelled",
  [LeaseEndReason.TERMINATED]: "terminated",
  [LeaseEndReason.SUSPENDED]: "suspended",
  [LeaseEndReason.WITHDRAWN]: "withdrawn",
  [LeaseEndReason.PERSON]: "person",
  [LeaseEndReason.SUPERSEDED]: "superseded",
  [LeaseEndReason.REWOUND]: "rewound",
};

/** The word of `pawl.v1.LostLease` for a reason. */
export function lostLeaseCause(reason: LeaseEndReason): string {
  return lostCauses[reason] ?? "returned";
}

import type { RejectionShape } from "@pawl/proto/v1/rejection_wire.js";
import type { Rejection } from "../core/rejection.js";

/** Longest text of a rejection, in UTF-16 code units: status details travel in headers, which are bounded. */
const textMax = 600;

/** A text cut visibly, and well-formed: half a surrogate pair becomes U+FFFD. */
export function cutText(text: string, max: number = textMax): string {
  const short =
    text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…`;
  return Buffer.from(short, "utf8").toString("utf8");
}

/** `pawl.v1.Rejection` as the wire codec writes it, with its texts bounded. */
export function rejectionShape(rejection: Rejection): RejectionShape {
  const { reason, message, detail } = rejection;
  return {
    reason,
    message: cutText(message),
    detail: detail === undefined ? none : boundDetail(detail),
  };
}

const none: RejectionShape["detail"] = { case: undefined };

function boundDetail(detail: NonNullable<Rejection["detail"]>): RejectionShape["detail"] {
  switch (detail.case) {
    case "invalidField": {
      const { field, expected, actual } = detail.value;
      const value = { field: cutText(field), expected: cutText(expected), actual: cutText(actual) };
      return { case: "invalidField", value };
    }
    case "credentialInPayload": {
      const { field, path, rule } = detail.value;
      return { case: detail.case, value: { field: cutText(field), path: cutText(path), rule } };
    }
    case "notFound": {
      const { entity, id } = detail.value;
      return { case: "notFound", value: { entity, id: cutText(id) } };
    }
    case "fingerprintConflict":
      return { case: detail.case, value: { ...detail.value, id: cutText(detail.value.id) } };
    case "illegalTransition": {
      const legal = detail.value.legal.slice(0, 20);
      return { case: detail.case, value: { ...detail.value, legal } };
    }
    default:
      return detail;
  }
}

import type { FoundInMessage } from "@pawl/proto/content/message-screen.js";
import type { Rejection } from "../../core/rejection.js";

/** Builds the refusal of content that holds a credential. Nothing of it is told. */
export function credentialInPayload({ field, rule, path }: FoundInMessage): Rejection {
  const where = path === "$" ? field : `${field} at ${path}`;
  return {
    reason: "PAWL_CREDENTIAL_IN_PAYLOAD",
    message:
      `Expected no credential in ${where}, but there is one (rule ${rule}). Next: send a reference in its place, {"$secretRef": "vault:NAME"}, ` +
      "which the worker resolves; or have the namespace redact or allow credentials (pawl namespace credentials).",
    detail: { case: "credentialInPayload", value: { field, path, rule } },
  };
}

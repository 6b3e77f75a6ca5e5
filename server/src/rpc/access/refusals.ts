import type { AccessRow } from "../../access/access-table.js";
import { everyNamespace } from "../../access/roles.js";
import { notFound, type Rejection } from "../../core/rejection.js";
import { unavailable } from "../refusals.js";

/** Refusal of whoever has not proved to be anyone. It never quotes what was sent. */
export function unauthenticated(found: string): Rejection {
  return {
    reason: "PAWL_UNAUTHENTICATED",
    message: `Expected a token or a client certificate that this kernel knows, but ${found}. Next: make a token with pawl token create, and send it as "Authorization: Bearer …" (the pawl command: PAWL_TOKEN or --token-file; the SDK: connect({ token }), worker({ token })).`,
  };
}

/** End of a call whose credential is gone. */
export function revokedCredential(): Rejection {
  return unauthenticated("it was revoked while the call was open");
}

/** End of a call whose credential now says something else: the next call is judged by that. */
export function changedCredential(): Rejection {
  return unavailable("what this credential may do has changed");
}

/** Refusal of a method to a principal that has a role in the namespace, but none that opens this method. */
export function permissionDenied(call: {
  readonly method: string;
  readonly row: AccessRow | undefined;
  readonly namespace: string;
  readonly principal: string;
}): Rejection {
  const { method, row, namespace, principal } = call;
  const roles = [...(row?.roles ?? [])];
  const where = namespace === everyNamespace ? "in every namespace" : `in namespace "${namespace}"`;
  const needed =
    roles.length === 0 ? "a row in the table of methods" : `role ${roles.join(" or ")} ${where}`;
  return {
    reason: "PAWL_PERMISSION_DENIED",
    message: `Expected ${principal} to have ${needed} for ${method}, but it has not. Next: use another token, or have one created with that role.`,
    detail: { case: "permissionDenied", value: { method, namespace, principal, roles } },
  };
}

/** Refusal of a namespace that is not there, and of one in which the caller has no role: nobody can tell one from the other. */
export function noSuchNamespace(namespace: string): Rejection {
  return notFound("namespace", namespace);
}

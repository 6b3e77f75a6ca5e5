import type { DescMethod } from "@bufbuild/protobuf";
import { type AccessRow, accessOf } from "../../access/access-table.js";
import { everyNamespace, isAccessRole } from "../../access/roles.js";
import type { Caller } from "../../core/caller.js";
import type { Rejection } from "../../core/rejection.js";
import { RejectionError } from "../../kernel/outcome.js";
import { readNamespace } from "../validate/fields.js";
import { Credential } from "./credential.js";
import type { Credentials, Proof } from "./credentials.js";
import type { RefusalLog } from "./refusal-log.js";
import { noSuchNamespace, permissionDenied } from "./refusals.js";

/** A method as the gate sees it. */
export interface GuardedMethod {
  /** `service/method`. */
  readonly name: string;
  /** Absent: nobody may call it. */
  readonly row: AccessRow | undefined;
}

/** A method with its row of the table. */
export function guardOf(method: DescMethod): GuardedMethod {
  const { typeName } = method.parent;
  return { name: `${typeName}/${method.name}`, row: accessOf(typeName, method.name) };
}

/** Who calls where nothing is asked. */
const nobody = new Credential({
  principal: "",
  authenticated: false,
  grants: [],
  expiresAtMs: Number.POSITIVE_INFINITY,
});

/** Where namespaces are looked up. */
export interface NamespaceIndex {
  hasNamespace(name: string): boolean;
}

/** Decides who calls, and whether they may: before any handler sees the request, and by the table alone. */
export class Gate {
  readonly #namespaces: NamespaceIndex;
  readonly #credentials: Credentials;
  readonly #refusals: RefusalLog;

  /** @param refusals told of everyone who is refused. */
  constructor(namespaces: NamespaceIndex, credentials: Credentials, refusals: RefusalLog) {
    this.#namespaces = namespaces;
    this.#credentials = credentials;
    this.#refusals = refusals;
  }

  /**
   * Who calls.
   *
   * @throws RejectionError PAWL_UNAUTHENTICATED.
   */
  identify({ name: method, row }: GuardedMethod, proof: Proof): Credential {
    if (row?.scope === "open") {
      return nobody;
    }
    const found = this.#credentials.identify(proof);
    if (found instanceof Credential) {
      return found;
    }
    this.#refusals.refused({ principal: "", method, namespace: "", rejection: found });
    throw new RejectionError(found);
  }

  /**
   * Lets a call through, or not.
   *
   * @param namespace field of the request; not read by methods that act in none.
   * @returns Who gives its commands.
   * @throws RejectionError PAWL_PERMISSION_DENIED, or PAWL_NAMESPACE_NOT_FOUND for a namespace that is absent or in which the caller
   *   has no role at all; PAWL_INVALID_FIELD for a name that is none.
   */
  authorize(credential: Credential, guarded: GuardedMethod, namespace: string): Caller {
    try {
      return this.#admit(credential, guarded, namespace);
    } catch (error) {
      if (error instanceof RejectionError && isRefusal(error.rejection, credential)) {
        const { principal } = credential;
        const { rejection } = error;
        this.#refusals.refused({ principal, method: guarded.name, namespace, rejection });
      }
      throw error;
    }
  }

  #admit(credential: Credential, guarded: GuardedMethod, namespace: string): Caller {
    const { row } = guarded;
    switch (row?.scope) {
      case "open":
      case "any":
        return credential.anywhere;
      case "namespace":
        return this.#within(credential, { ...guarded, row }, readNamespace(namespace));
      case "kernel":
        requireRole(credential, { ...guarded, row }, everyNamespace);
        return credential.anywhere;
      case undefined:
        throw denied(credential, guarded, everyNamespace);
    }
  }

  /** Namespaces that a credential may know of. */
  isVisible(credential: Credential, name: string): boolean {
    return hasAccess(credential.rolesIn(name));
  }

  /** Whether a credential may know what concerns the whole store, of whatever namespace. */
  seesWhole(credential: Credential): boolean {
    const roles = credential.rolesIn(everyNamespace);
    return roles.includes("operator") || roles.includes("admin");
  }

  /** Whether a credential may read the store's own history, in which what was done to every namespace stands: an admin over the whole kernel. */
  readsStoreHistory(credential: Credential): boolean {
    return credential.rolesIn(everyNamespace).includes("admin");
  }

  #within(
    credential: Credential,
    guarded: GuardedMethod & { readonly row: AccessRow },
    namespace: string,
  ): Caller {
    if (!hasAccess(credential.rolesIn(namespace)) || !this.#namespaces.hasNamespace(namespace)) {
      throw new RejectionError(noSuchNamespace(namespace));
    }
    requireRole(credential, guarded, namespace);
    return credential.callerIn(namespace);
  }
}

/** Somebody was not let in. Where nobody is asked, a namespace that is not there is a mistake and no more. */
function isRefusal({ reason }: Rejection, { authenticated }: Credential): boolean {
  return (
    reason === "PAWL_PERMISSION_DENIED" || (authenticated && reason === "PAWL_NAMESPACE_NOT_FOUND")
  );
}

function hasAccess(roles: readonly string[]): boolean {
  return roles.some(isAccessRole);
}

function requireRole(
  credential: Credential,
  guarded: GuardedMethod & { readonly row: AccessRow },
  namespace: string,
): void {
  const held = credential.rolesIn(namespace);
  if (!guarded.row.roles.some((role) => held.includes(role))) {
    throw denied(credential, guarded, namespace);
  }
}

function denied(
  { principal }: Credential,
  { name, row }: GuardedMethod,
  namespace: string,
): RejectionError {
  return new RejectionError(permissionDenied({ method: name, row, namespace, principal }));
}

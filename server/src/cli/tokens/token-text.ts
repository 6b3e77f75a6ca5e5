import { isAccessRole } from "../../access/roles.js";
import type { TokenEntry } from "../../access/token-entry.js";
import type { Json } from "../json.js";

/** What an entry may be, in words: `approver, finance in default and pay`. */
export function describeGrants({ grants }: TokenEntry): string {
  const byRoles = new Map<string, string[]>();
  for (const { namespace, roles } of grants) {
    const words = roles.join(", ");
    byRoles.set(words, [...(byRoles.get(words) ?? []), nameNamespace(namespace)]);
  }
  return [...byRoles].map(([roles, names]) => `${roles} in ${names.join(" and ")}`).join("; ");
}

function nameNamespace(namespace: string): string {
  return namespace === "*" ? "every namespace" : namespace;
}

/** Roles that open nothing: only approvals ask for them. */
export function rolesWithoutAccess({ grants }: TokenEntry): string[] {
  const roles = grants.flatMap((grant) => grant.roles);
  return [...new Set(roles)].filter((role) => !isAccessRole(role));
}

/** Whether an entry counts now. */
export function stateOf(entry: TokenEntry, nowMs: number): "active" | "expired" {
  const { expiresAt, secrets, certificates } = entry;
  const isOver = (at: string | undefined): boolean => at !== undefined && Date.parse(at) <= nowMs;
  const proofs = certificates.length + secrets.filter((secret) => !isOver(secret.expiresAt)).length;
  return isOver(expiresAt) || proofs === 0 ? "expired" : "active";
}

/** An entry for scripts: all of it but its hashes. */
export function entryJson(entry: TokenEntry, nowMs: number): { [name: string]: Json } {
  const { id, name, grants, createdAt, expiresAt, certificates, secrets } = entry;
  return {
    ...{ id, name, state: stateOf(entry, nowMs) },
    grants: grants.map(({ namespace, roles }) => ({ namespace, roles: [...roles] })),
    createdAt,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    certificates: [...certificates],
    secrets: secrets.length,
  };
}

/** The roles that open methods; see `access-table.ts`. A principal may bear others, which only approvals ask for. */
export type AccessRole = "worker" | "client" | "approver" | "operator" | "admin";

/** All of them, with what they are for. */
export const accessRoles: Readonly<Record<AccessRole, string>> = {
  worker: "does tasks and performs their effects",
  client: "starts runs, awaits and reads them",
  approver: "reads, and decides what waits for approval",
  operator: "reads, and ends, mends and resolves",
  admin: "what an operator may, and the kernel itself",
};

/** In a grant: every namespace, also those that do not exist yet. */
export const everyNamespace = "*";

/** What a principal may be in some namespaces. */
export interface Grant {
  /** Name of a namespace, or `*`. */
  readonly namespace: string;
  /** At least one; those of `accessRoles` open methods. */
  readonly roles: readonly string[];
}

/** True for a role that opens methods. */
export function isAccessRole(role: string): role is AccessRole {
  return Object.hasOwn(accessRoles, role);
}

/** Why roles cannot be held together, or undefined. What can be talked into anything must not approve its own wishes. */
export function conflictOf(roles: Iterable<string>): string | undefined {
  const held = new Set(roles);
  return held.has("worker") && held.has("approver")
    ? "a worker must not approve: whoever can talk a worker into a wish could then grant it"
    : undefined;
}

const rolePattern = /^[a-z][a-z0-9-]{0,63}$/;
const namePattern = /^[\p{L}\p{N}][\p{L}\p{N}._@:+-]{0,99}$/u;

/** Rule for the names of roles, as a phrase. */
export const roleRule = "1 to 64 lower-case letters, digits and dashes, a letter first";

/** Rule for the names of principals, as a phrase. */
export const nameRule =
  "1 to 100 letters, digits and . _ @ : + -, a letter or digit first, and not `local`";

/** True for a well-formed name of a role. */
export function isRoleName(role: string): boolean {
  return rolePattern.test(role);
}

/** True for a name that a principal may bear. `local` is nobody's. */
export function isPrincipalName(name: string): boolean {
  return namePattern.test(name) && name !== "local";
}

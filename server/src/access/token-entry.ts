import { conflictOf, type Grant, isAccessRole, isPrincipalName, isRoleName } from "./roles.js";

/** A secret of an entry: its hash, and until when it counts. */
export interface StoredSecret {
  /** SHA-256, base64url; see `hashSecret`. */
  readonly hash: string;
  readonly createdAt: string;
  /** Absent: as long as its entry. Set on the older one when a token is rotated. */
  readonly expiresAt?: string;
}

/** One entry of the token file: a principal, what it may be, and how it proves itself. */
export interface TokenEntry {
  /** 12 hexadecimal digits. */
  readonly id: string;
  /** Name of the principal. Several entries may bear it: it is one principal with several credentials. */
  readonly name: string;
  readonly grants: readonly Grant[];
  /** ISO 8601, in UTC. */
  readonly createdAt: string;
  /** Absent: never. */
  readonly expiresAt?: string;
  /** Two while a rotation is under way. */
  readonly secrets: readonly StoredSecret[];
  /** Names in client certificates that prove it: `CN=…`, `DNS:…`, `URI:…`, `email:…`. */
  readonly certificates: readonly string[];
}

/** The form of a name in a certificate. */
export const certificatePattern: RegExp = /^(?:CN=|DNS:|URI:|email:)[^\p{Cc}",]{1,500}$/u;

type Fields = Readonly<Partial<Record<string, unknown>>>;

/** Checks entries; a text says what is wrong with them, as the end of a sentence. */
export function parseEntries(value: unknown): TokenEntry[] | string {
  if (!Array.isArray(value)) {
    return "it has no list of entries";
  }
  const entries: TokenEntry[] = [];
  const ids = new Set<string>();
  const certificates = new Set<string>();
  for (const [index, item] of value.entries()) {
    const entry = parseEntry(fieldsOf(item));
    if (typeof entry === "string") {
      return `${entry} in entry ${index + 1}`;
    }
    if (ids.has(entry.id)) {
      return `two entries have the id ${entry.id}`;
    }
    ids.add(entry.id);
    for (const name of entry.certificates) {
      if (certificates.has(name)) {
        return `two entries name the certificate ${name}`;
      }
      certificates.add(name);
    }
    entries.push(entry);
  }
  return conflictAcross(entries) ?? entries;
}

function parseEntry(fields: Fields): TokenEntry | string {
  const { id, name, createdAt, expiresAt } = fields;
  if (typeof id !== "string" || !/^[0-9a-f]{12}$/.test(id)) return "the id is no 12 hex digits";
  if (typeof name !== "string" || !isPrincipalName(name))
    return "the name is none that may be borne";
  if (!isTime(createdAt)) return "createdAt is no time";
  if (expiresAt !== undefined && !isTime(expiresAt)) return "expiresAt is no time";
  const grants = listOf(fields["grants"], parseGrant);
  if (grants === undefined || grants.length === 0) return "the grants are none";
  const secrets = listOf(fields["secrets"], parseSecret);
  if (secrets === undefined) return "the secrets are ill-formed";
  const certificates = listOf(fields["certificates"], parseCertificate);
  if (certificates === undefined) return "the certificates are ill-formed";
  return {
    ...{ id, name, grants, createdAt },
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...{ secrets, certificates },
  };
}

function parseGrant(value: unknown): Grant | undefined {
  const { namespace, roles } = fieldsOf(value);
  const names = listOf(roles, (role) =>
    typeof role === "string" && isRoleName(role) ? role : undefined,
  );
  const isGood =
    typeof namespace === "string" && namespace !== "" && names?.some(isAccessRole) === true;
  return isGood ? { namespace, roles: names } : undefined;
}

function parseSecret(value: unknown): StoredSecret | undefined {
  const { hash, createdAt, expiresAt } = fieldsOf(value);
  const isHash = typeof hash === "string" && /^[A-Za-z0-9_-]{43}$/.test(hash);
  if (!isHash || !isTime(createdAt)) return undefined;
  if (expiresAt === undefined) return { hash, createdAt };
  return isTime(expiresAt) ? { hash, createdAt, expiresAt } : undefined;
}

function parseCertificate(value: unknown): string | undefined {
  return typeof value === "string" && certificatePattern.test(value) ? value : undefined;
}

/** A principal is one, whichever of its credentials it shows. */
function conflictAcross(entries: readonly TokenEntry[]): string | undefined {
  const roles = new Map<string, Set<string>>();
  for (const { name, grants } of entries) {
    const held = roles.get(name) ?? new Set();
    roles.set(name, held);
    for (const role of grants.flatMap((grant) => grant.roles)) {
      held.add(role);
    }
    const conflict = conflictOf(held);
    if (conflict !== undefined) {
      return `${name} is worker and approver: ${conflict}`;
    }
  }
  return undefined;
}

function isTime(value: unknown): value is string {
  return (
    typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value))
  );
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function listOf<T>(value: unknown, parse: (item: unknown) => T | undefined): T[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const items: T[] = [];
  for (const item of value) {
    const parsed = parse(item);
    if (parsed === undefined) return undefined;
    items.push(parsed);
  }
  return items;
}

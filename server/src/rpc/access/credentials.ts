import { accessOf } from "../../access/access-table.js";
import { everyNamespace } from "../../access/roles.js";
import { matchesSecret, parseToken } from "../../access/token.js";
import type { TokenEntry } from "../../access/token-entry.js";
import { localCaller, localStanding, type StandingOf } from "../../core/caller.js";
import type { Rejection } from "../../core/rejection.js";
import { Credential } from "./credential.js";
import { changedCredential, revokedCredential, unauthenticated } from "./refusals.js";

/** How a caller says who it is. */
export interface Proof {
  /** The Authorization header, as it came. */
  readonly authorization: string | undefined;
  /** Names in the client certificate that TLS has verified; none without one. */
  readonly certificates: () => readonly string[];
}

/** A credential with what its entry says, to be compared with what it says next. */
interface Kept {
  readonly stamp: string;
  readonly credential: Credential;
}

interface KnownSecret {
  readonly hash: Buffer;
  readonly credential: Credential;
}

/** Roles that may decide about proposals. */
const deciders = accessOf("pawl.v1.ApprovalService", "DecideProposal")?.roles ?? [];

/** Compared with when the id is unknown, so that this takes as long. */
const nobodysHash = Buffer.alloc(32);

/**
 * The credentials in force. Each stays the same object for as long as its entry says the same; one whose entry says something else,
 * or is gone, ends with all calls that rest on it.
 */
export class Credentials {
  readonly #now: () => number;
  /** Whoever connects to a kernel that asks for no credentials. */
  readonly #local = new Credential({
    principal: localCaller.principal,
    authenticated: false,
    grants: [{ namespace: everyNamespace, roles: localCaller.roles }],
    expiresAtMs: Number.POSITIVE_INFINITY,
  });
  #isRequired = false;
  /** By what proves them. */
  #byProof = new Map<string, Kept>();
  #secrets = new Map<string, KnownSecret[]>();
  #certificates = new Map<string, Credential>();

  /** @param now kernel time, by which they expire. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** False: no credentials are asked for, and everyone is `local`. */
  get isRequired(): boolean {
    return this.#isRequired;
  }

  /** Puts a token file into force. From the first on credentials are required, also when it holds none. */
  use(entries: readonly TokenEntry[]): void {
    const before = this.#byProof;
    this.#byProof = new Map();
    this.#secrets = new Map();
    this.#certificates = new Map();
    for (const entry of entries) {
      this.#secrets.set(
        entry.id,
        entry.secrets.map(({ hash, expiresAt }) => ({
          hash: Buffer.from(hash, "base64url"),
          credential: this.#keep(before, entry, `secret ${hash}`, expiresAt),
        })),
      );
      for (const name of entry.certificates) {
        this.#certificates.set(name, this.#keep(before, entry, `certificate ${name}`, undefined));
      }
    }
    for (const [proof, { credential }] of before) {
      const now = this.#byProof.get(proof);
      if (now?.credential !== credential) {
        credential.end(now === undefined ? revokedCredential() : changedCredential());
      }
    }
    if (!this.#isRequired) {
      this.#isRequired = true;
      this.#local.end(unauthenticated("tokens are asked for from now on"));
    }
  }

  /** Who calls, or why it is nobody. */
  identify(proof: Proof): Credential | Rejection {
    if (!this.#isRequired) {
      return this.#local;
    }
    const { authorization } = proof;
    const found =
      authorization === undefined ? this.#byCertificate(proof) : this.#byToken(authorization);
    if (!(found instanceof Credential)) {
      return found;
    }
    this.#expire(found);
    return found.ended ?? found;
  }

  /** Ends what has expired. */
  expireAll(): void {
    for (const { credential } of this.#byProof.values()) {
      this.#expire(credential);
    }
  }

  /**
   * What principals may do now, for decisions that rest on what they did earlier. A credential with which one may not decide about proposals
   * (any more) gives no standing, whatever else it opens and whatever it bears of the roles that proposals ask for.
   */
  readonly standingOf: StandingOf = (namespace, principal) => {
    if (!this.#isRequired) {
      return localStanding(namespace, principal);
    }
    const roles = new Set<string>();
    for (const { credential } of this.#byProof.values()) {
      if (credential.principal === principal && credential.expiresAtMs > this.#now()) {
        const held = credential.rolesIn(namespace);
        for (const role of deciders.some((decider) => held.includes(decider)) ? held : []) {
          roles.add(role);
        }
      }
    }
    return roles.size === 0 ? undefined : [...roles];
  };

  #keep(
    before: ReadonlyMap<string, Kept>,
    { id, name, grants, expiresAt }: TokenEntry,
    proof: string,
    proofExpiresAt: string | undefined,
  ): Credential {
    const expiresAtMs = Math.min(readTime(expiresAt), readTime(proofExpiresAt));
    const key = `${id} ${proof}`;
    const stamp = JSON.stringify([name, grants, `${expiresAtMs}`]);
    const kept = before.get(key);
    const credential =
      kept?.stamp === stamp
        ? kept.credential
        : new Credential({ principal: name, authenticated: true, grants, expiresAtMs });
    this.#byProof.set(key, { stamp, credential });
    return credential;
  }

  #byToken(authorization: string): Credential | Rejection {
    const token = parseToken(/^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? "");
    if (token === undefined) {
      return unauthenticated("the Authorization header holds no token of this kernel");
    }
    let found: Credential | undefined;
    const known = this.#secrets.get(token.id) ?? [];
    for (const { hash, credential } of known) {
      if (matchesSecret(token.secret, hash)) {
        found = credential;
      }
    }
    if (known.length === 0) {
      matchesSecret(token.secret, nobodysHash);
    }
    return found ?? unauthenticated("the token is none that counts");
  }

  #byCertificate({ certificates }: Proof): Credential | Rejection {
    const names = certificates();
    for (const name of names) {
      const credential = this.#certificates.get(name);
      if (credential !== undefined) {
        return credential;
      }
    }
    return unauthenticated(
      names.length === 0
        ? "there is neither a token nor a client certificate"
        : "the client certificate bears no name that the token file has",
    );
  }

  #expire(credential: Credential): void {
    if (credential.ended === undefined && credential.expiresAtMs <= this.#now()) {
      credential.end(unauthenticated("the token has expired"));
    }
  }
}

function readTime(text: string | undefined): number {
  return text === undefined ? Number.POSITIVE_INFINITY : Date.parse(text);
}

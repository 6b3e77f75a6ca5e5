import { everyNamespace, type Grant } from "../../access/roles.js";
import type { Caller } from "../../core/caller.js";
import type { Rejection } from "../../core/rejection.js";
import { RejectionError } from "../../kernel/outcome.js";
import type { OpenCall } from "../lifecycle.js";

/** What a credential stands for. */
export interface CredentialParts {
  readonly principal: string;
  readonly authenticated: boolean;
  readonly grants: readonly Grant[];
  /** Ms since the Unix epoch; infinity: never. */
  readonly expiresAtMs: number;
}

const none: readonly string[] = [];

/**
 * One way to be a principal that counts: a token's secret, a certificate, or the connection to a kernel that asks for nothing. It
 * knows the calls that rest on it, so that they end with it.
 */
export class Credential implements CredentialParts {
  readonly principal: string;
  readonly authenticated: boolean;
  readonly grants: readonly Grant[];
  readonly expiresAtMs: number;
  /** Who this is outside every namespace: for methods that act on nothing in particular. */
  readonly anywhere: Caller;
  readonly #callers = new Map<string, Caller>();
  readonly #calls: Set<OpenCall> = new Set();
  #ended: Rejection | undefined;

  constructor(parts: CredentialParts) {
    this.principal = parts.principal;
    this.authenticated = parts.authenticated;
    this.grants = parts.grants;
    this.expiresAtMs = parts.expiresAtMs;
    this.anywhere = this.#caller(this.#rolesIn(everyNamespace));
  }

  /** Why it counts no more; undefined while it does. */
  get ended(): Rejection | undefined {
    return this.#ended;
  }

  /** @throws RejectionError why it counts no more. */
  requireLive(): void {
    if (this.#ended !== undefined) {
      throw new RejectionError(this.#ended);
    }
  }

  /** Calls that rest on it. */
  get openCalls(): number {
    return this.#calls.size;
  }

  /** Roles in a namespace; none in one that it was granted nothing in. */
  rolesIn(namespace: string): readonly string[] {
    return this.#callers.get(namespace)?.roles ?? this.#rolesIn(namespace);
  }

  /** Who gives the commands of a namespace. The same object each time. */
  callerIn(namespace: string): Caller {
    let caller = this.#callers.get(namespace);
    if (caller === undefined) {
      caller = this.#caller(this.#rolesIn(namespace));
      this.#callers.set(namespace, caller);
    }
    return caller;
  }

  add(call: OpenCall): void {
    this.#calls.add(call);
  }

  remove(call: OpenCall): void {
    this.#calls.delete(call);
  }

  /** It counts no more: ends every call that rests on it. */
  end(rejection: Rejection): void {
    this.#ended ??= rejection;
    for (const call of [...this.#calls]) {
      call.abort(rejection);
    }
  }

  #caller(roles: readonly string[]): Caller {
    const { principal, authenticated } = this;
    return { principal, roles, authenticated, ended: () => this.#ended };
  }

  #rolesIn(namespace: string): readonly string[] {
    const roles = this.grants
      .filter((grant) => grant.namespace === namespace || grant.namespace === everyNamespace)
      .flatMap((grant) => grant.roles);
    return roles.length === 0 ? none : [...new Set(roles)];
  }
}

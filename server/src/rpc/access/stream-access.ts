import type { Caller } from "../../core/caller.js";
import { readNamespace } from "../validate/fields.js";
import type { Credential } from "./credential.js";
import type { Gate, GuardedMethod } from "./gate.js";

/** What one stream may do, namespace by namespace: asked with each of its messages, and cheap for the same namespace again. */
export class StreamAccess {
  readonly #gate: Gate;
  readonly #credential: Credential;
  readonly #method: GuardedMethod;
  #namespace: string | undefined;
  #caller: Caller;

  constructor(gate: Gate, credential: Credential, method: GuardedMethod) {
    this.#gate = gate;
    this.#credential = credential;
    this.#method = method;
    this.#caller = credential.anywhere;
  }

  /**
   * What was let in may have to wait before it becomes a command; by then its credential may have ended.
   *
   * @throws RejectionError why the credential counts no more.
   */
  requireLive(): void {
    this.#credential.requireLive();
  }

  /**
   * Who gives the commands of a namespace.
   *
   * @throws RejectionError as `Gate.authorize` does.
   */
  callerIn(namespace: string): Caller {
    const name = readNamespace(namespace);
    this.requireLive();
    // A credential never changes, nor does the table, nor does a namespace go away.
    if (name !== this.#namespace) {
      this.#caller = this.#gate.authorize(this.#credential, this.#method, name);
      this.#namespace = name;
    }
    return this.#caller;
  }
}

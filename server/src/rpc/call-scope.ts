import type { Caller } from "../core/caller.js";
import type { Rejection } from "../core/rejection.js";
import { RejectionError } from "../kernel/outcome.js";
import type { Credential } from "./access/credential.js";
import type { Lifecycle, OpenCall } from "./lifecycle.js";
import { unavailable } from "./refusals.js";

/** What a handler knows of the call besides its request. */
export interface CallContext {
  /**
   * Who the connection proved to be. Asked for when a command is given, not before: what proved it may have ended since.
   *
   * @throws RejectionError when it counts no more: nothing more is done in that name.
   */
  readonly caller: Caller;
  /** What the connection proved it by; it says what the caller is in other namespaces. */
  readonly credential: Credential;
  /**
   * Aborted when nobody waits for the answer any more, or when the kernel goes away (then its reason is a RejectionError
   * `PAWL_UNAVAILABLE`). A handler that waits listens; one that writes goes on to its answer.
   */
  readonly signal: AbortSignal;
}

/** The reason of a signal when the caller has gone: there is nobody to answer. */
export class CallerGone extends Error {
  readonly code = "PAWL_CALLER_GONE";
  constructor() {
    super("Expected the caller to wait for the answer, but it has gone.");
    this.name = "CallerGone";
  }
}

/** One call. Its signal is made when someone asks for it: most calls never do, and controllers are dear. */
export class CallScope implements CallContext, OpenCall {
  readonly credential: Credential;
  #caller: Caller;
  readonly #lifecycle: Lifecycle;
  readonly #fail: (rejection: Rejection) => void;
  #controller: AbortController | undefined;
  #reason: unknown;
  #isEnded = false;

  /** @param fail ends the call at once, when the store has failed or the time to drain is over. */
  constructor(credential: Credential, lifecycle: Lifecycle, fail: (rejection: Rejection) => void) {
    this.credential = credential;
    this.#caller = credential.anywhere;
    this.#lifecycle = lifecycle;
    this.#fail = fail;
    if (lifecycle.refusal !== undefined) {
      this.#reason = new RejectionError(lifecycle.refusal);
    }
    lifecycle.add(this);
    credential.add(this);
  }

  get caller(): Caller {
    this.credential.requireLive();
    return this.#caller;
  }

  set caller(caller: Caller) {
    this.#caller = caller;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) {
        this.#controller.abort(this.#reason);
      }
    }
    return this.#controller.signal;
  }

  /** The caller has gone. Some transports say so of every call in the end; then nothing is left to do. */
  cancel(): void {
    if (!this.#isEnded) {
      this.#abort(new CallerGone());
      this.end();
    }
  }

  /** The call was answered. */
  end(): void {
    this.#isEnded = true;
    this.#lifecycle.remove(this);
    this.credential.remove(this);
  }

  drain(): void {
    this.#abort(new RejectionError(unavailable("it is going away")));
  }

  abort(rejection: Rejection): void {
    this.#abort(new RejectionError(rejection));
    this.#fail(rejection);
    this.end();
  }

  #abort(reason: unknown): void {
    this.#reason ??= reason;
    this.#controller?.abort(this.#reason);
  }
}

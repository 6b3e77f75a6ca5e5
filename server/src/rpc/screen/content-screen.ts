import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { FoundInMessage } from "@pawl/proto/content/message-screen.js";
import { MessageScreen } from "@pawl/proto/content/message-screen.js";
import { CredentialMode } from "@pawl/proto/v1/credential_policy_pb.js";
import type { Rejection } from "../../core/rejection.js";
import { RejectionError } from "../../kernel/outcome.js";
import { credentialInPayload } from "./refused-content.js";

/**
 * Keeps credentials out of what is recorded. It looks at requests before any handler does, so that digests and fingerprints are those of what is stored.
 */
export class ContentScreen {
  readonly #modeIn: (namespace: string) => CredentialMode;
  readonly #messages = new MessageScreen();
  readonly #refused = new WeakMap<object, Rejection>();

  /** @param modeIn what a namespace does with credentials. */
  constructor(modeIn: (namespace: string) => CredentialMode) {
    this.#modeIn = modeIn;
  }

  /** False: an encoded message holds no credential. True: it is worth decoding it to look. */
  mayHold(bytes: Uint8Array): boolean {
    return this.#messages.mayHold(bytes);
  }

  /**
   * Looks through a request, and redacts in place. Items of a batch that are refused are remembered for `requireClean`; anything else that is refused refuses all.
   *
   * @param items field with the items of a batch, if it is one.
   * @throws RejectionError PAWL_CREDENTIAL_IN_PAYLOAD.
   */
  screenRequest(namespace: string, desc: DescMessage, request: Message, items?: string): void {
    const mode = this.#modeIn(namespace);
    if (mode === CredentialMode.ALLOW) {
      return;
    }
    const redacts = mode === CredentialMode.REDACT;
    const batch = items === undefined ? undefined : desc.field[items];
    if (batch?.message !== undefined) {
      this.#screenBatch(batch.message, Reflect.get(request, batch.localName), redacts);
    }
    const found = this.#messages.screen(desc, request, redacts, batch?.name);
    if (found !== undefined) {
      throw new RejectionError(credentialInPayload(found));
    }
  }

  #screenBatch(desc: DescMessage, items: unknown, redacts: boolean): void {
    for (const item of Array.isArray(items) ? items : []) {
      const found = this.#messages.screen(desc, item, redacts);
      if (found !== undefined) {
        this.#refused.set(item, credentialInPayload(found));
      }
    }
  }

  /** An item of a batch that was looked through with its request. @throws RejectionError PAWL_CREDENTIAL_IN_PAYLOAD. */
  requireClean(item: object): void {
    const rejection = this.#refused.get(item);
    if (rejection !== undefined) {
      throw new RejectionError(rejection);
    }
  }

  /** Looks through one message, and redacts in place. Answers why it is refused, if it is. */
  screenItem(namespace: string, desc: DescMessage, item: Message): Rejection | undefined {
    const mode = this.#modeIn(namespace);
    const found: FoundInMessage | undefined =
      mode === CredentialMode.ALLOW
        ? undefined
        : this.#messages.screen(desc, item, mode === CredentialMode.REDACT);
    return found && credentialInPayload(found);
  }
}

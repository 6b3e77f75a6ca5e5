import { type DescMessage, isMessage, type Message } from "@bufbuild/protobuf";
import { type Payload, PayloadSchema } from "../gen/pawl/v1/payload_pb.js";
import { readBytes } from "./byte-letters.js";
import {
  type ContentField,
  contentFieldsOf,
  holderOf,
  isAlwaysRedacted,
} from "./content-fields.js";
import {
  type CredentialDetector,
  type FoundCredential,
  standardDetector,
} from "./find-credentials.js";

/** A credential that was found in a message. It holds nothing of it. */
export interface FoundInMessage extends FoundCredential {
  /** Path of the field that holds it, for example `run.input`. */
  readonly field: string;
}

/** How what is below a place is dealt with. */
interface Dealing {
  /** True: a credential in content is replaced. False: what holds it is refused. */
  readonly redacts: boolean;
  /** Of the place, with a dot behind it; empty at the top. */
  readonly prefix: string;
}

/**
 * Looks for credentials in messages of the API. What tells what has happened (failures, observations, progress, live output) is redacted in place. Content that a client-side
 * codec encoded is not looked at: nobody here can read it.
 */
export class MessageScreen {
  readonly #detector: CredentialDetector;

  constructor(detector: CredentialDetector = standardDetector()) {
    this.#detector = detector;
  }

  /** False: an encoded message holds no credential. True: it is worth decoding it to look. */
  mayHold(bytes: Uint8Array): boolean {
    return this.#detector.mayHoldBytes(bytes);
  }

  /**
   * Looks through a message.
   *
   * @param redacts true: all content is redacted in place, and what is found is what cannot be: a credential in an id, a name or a key.
   * @param without a field that is left out.
   * @returns the first credential that stands; undefined: there is none.
   */
  screen(
    desc: DescMessage,
    message: Message,
    redacts: boolean,
    without?: string,
  ): FoundInMessage | undefined {
    return this.#screen(desc, message, { redacts, prefix: "" }, without);
  }

  #screen(
    desc: DescMessage,
    message: Message,
    { redacts, prefix }: Dealing,
    without?: string,
  ): FoundInMessage | undefined {
    if (isMessage(message, PayloadSchema)) {
      return this.#screenPayload(message, { redacts, prefix });
    }
    const dealing = { redacts: redacts || isAlwaysRedacted(desc), prefix };
    for (const content of contentFieldsOf(desc)) {
      const found =
        content.field.name === without ? undefined : this.#screenField(message, content, dealing);
      if (found !== undefined) {
        return found;
      }
    }
    return undefined;
  }

  #screenField(
    message: Message,
    content: ContentField,
    { redacts, prefix }: Dealing,
  ): FoundInMessage | undefined {
    const place = holderOf(message, content.field);
    const value: unknown = place && Reflect.get(place.holder, place.key);
    if (place === undefined || value === undefined || value === "") {
      return undefined;
    }
    const path = `${prefix}${content.field.name}`;
    switch (content.kind) {
      case "text": {
        const text = typeof value === "string" ? value : "";
        if (content.isProse && redacts) {
          Reflect.set(place.holder, place.key, this.#detector.redactText(text));
          return undefined;
        }
        return at(path, this.#detector.findInText(text));
      }
      case "texts":
        return this.#findInTexts(path, Array.isArray(value) ? value : []);
      case "message":
        return isMessage(value)
          ? this.#screen(content.message, value, { redacts, prefix: `${path}.` })
          : undefined;
      case "messages":
        return this.#screenAll(content.message, Array.isArray(value) ? value : [], {
          redacts,
          prefix: path,
        });
    }
  }

  #screenAll(
    desc: DescMessage,
    messages: readonly unknown[],
    { redacts, prefix }: Dealing,
  ): FoundInMessage | undefined {
    for (const [index, message] of messages.entries()) {
      const found = isMessage(message)
        ? this.#screen(desc, message, { redacts, prefix: `${prefix}[${index}].` })
        : undefined;
      if (found !== undefined) {
        return found;
      }
    }
    return undefined;
  }

  #findInTexts(path: string, texts: readonly unknown[]): FoundInMessage | undefined {
    for (const [index, text] of texts.entries()) {
      const found = typeof text === "string" ? this.#detector.findInText(text) : undefined;
      if (found !== undefined) {
        return at(`${path}[${index}]`, found);
      }
    }
    return undefined;
  }

  #screenPayload(payload: Payload, { redacts, prefix }: Dealing): FoundInMessage | undefined {
    const { body, encoding, contentType } = payload;
    if (encoding !== "" || body.case !== "data" || !this.#detector.mayHoldBytes(body.value)) {
      return undefined;
    }
    const { text, bytesOf } = readBytes(body.value);
    const isJson = isJsonType(contentType);
    if (redacts) {
      const redacted = isJson ? this.#detector.redactJson(text) : this.#detector.redactText(text);
      if (redacted !== text) {
        body.value = bytesOf(redacted);
      }
      return undefined;
    }
    const found = isJson ? this.#detector.findInJson(text) : this.#detector.findInText(text);
    return at(prefix.replace(/\.$/, ""), found);
  }
}

function at(field: string, found: FoundCredential | undefined): FoundInMessage | undefined {
  return found && { ...found, field };
}

function isJsonType(contentType: string): boolean {
  const [essence = ""] = contentType.split(";", 1);
  return /^(?:application\/json|text\/json|[^/]+\/[^/]+\+json)$/i.test(essence.trim());
}

import { DefinitionInvalid } from "./errors.js";

/**
 * Content that is not JSON: bytes with a media type. Give one wherever a value is expected, and get one where another
 * worker sent something else than JSON.
 */
export class Content {
  /** Media type, for example `image/png`. 1 to 200 bytes. */
  readonly contentType: string;
  /** The bytes. Not copied. */
  readonly data: Uint8Array;

  /** @throws DefinitionInvalid when the media type is empty, too long or not ASCII. */
  constructor(contentType: string, data: Uint8Array) {
    if (!/^[\x21-\x7e][\x20-\x7e]{0,199}$/.test(contentType)) {
      throw new DefinitionInvalid(
        "Expected a content type of 1 to 200 ASCII characters, such as image/png, but it is not. Name the media type.",
      );
    }
    this.contentType = contentType;
    this.data = data;
  }
}

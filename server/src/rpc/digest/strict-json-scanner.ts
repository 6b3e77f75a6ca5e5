import { utf8ByteLength } from "../../core/identity/utf8.js";
import {
  JSON_DEPTH_MAX,
  type JsonRefusal,
  type JsonRefusalReason,
  refuseJson,
} from "./json-refusal.js";

/** Magnitude of the greatest integer that is accepted, 2^53, in its decimal digits. */
const INTEGER_DIGITS_MAX = "9007199254740992";

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const LITERAL = /true|false|null/y;
const NOT_A_NUMBER = /NaN|-?Infinity/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u([0-9a-fA-F]{4}))/y;
const LOW_SURROGATE = /\\u[dD][c-fC-F][0-9a-fA-F]{2}/y;

/** Carries a refusal out of the scanner's recursion; never leaves this file. */
class Refused extends Error {
  readonly refusal: JsonRefusal;

  constructor(refusal: JsonRefusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/**
 * Reads a whole document by the grammar of RFC 8259 and reports the first thing in it that is refused, or undefined.
 * It builds nothing: the value is `JSON.parse`'s business, which accepts every document that passes here.
 */
export function scanStrictJson(text: string): JsonRefusal | undefined {
  try {
    new StrictJsonScanner(text).scanDocument();
    return undefined;
  } catch (error) {
    if (error instanceof Refused) return error.refusal;
    throw error;
  }
}

/** A recursive-descent reader; the bound on depth bounds its recursion as well. */
class StrictJsonScanner {
  readonly #text: string;
  #at = 0;
  /** Names and indexes from the root to what is being read; its length is the depth reached. */
  readonly #path: (string | number)[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  scanDocument(): void {
    this.#skipSpace();
    this.#scanValue();
    this.#skipSpace();
    if (this.#at < this.#text.length) this.#refuseSyntax("more text after the document");
  }

  #scanValue(): void {
    const first = this.#text[this.#at];
    if (first === "{") this.#scanObject();
    else if (first === "[") this.#scanArray();
    else if (first === '"') this.#scanString();
    else if (this.#match(LITERAL) === undefined) this.#scanNumber();
  }

  #scanObject(): void {
    this.#enter();
    const names = new Set<string>();
    if (this.#accept("}")) return;
    do {
      this.#skipSpace();
      const start = this.#at;
      if (this.#text[start] !== '"') this.#refuseSyntax("no name of a member");
      const name = this.#scanString();
      this.#path.push(name);
      if (names.has(name)) this.#refuse("duplicate_key", start, "a second member of one name");
      names.add(name);
      if (!this.#accept(":")) this.#refuseSyntax("no colon after the name of a member");
      this.#skipSpace();
      this.#scanValue();
      this.#path.pop();
    } while (this.#accept(","));
    if (!this.#accept("}")) this.#refuseSyntax("neither a comma nor the end of the object");
  }

  #scanArray(): void {
    this.#enter();
    if (this.#accept("]")) return;
    let index = 0;
    do {
      this.#path.push(index);
      index += 1;
      this.#skipSpace();
      this.#scanValue();
      this.#path.pop();
    } while (this.#accept(","));
    if (!this.#accept("]")) this.#refuseSyntax("neither a comma nor the end of the array");
  }

  #enter(): void {
    if (this.#path.length >= JSON_DEPTH_MAX) {
      this.#refuse("too_deep", this.#at, `a level of nesting beyond ${JSON_DEPTH_MAX}`);
    }
    this.#at += 1;
  }

  /** Reads a string and gives its value. */
  #scanString(): string {
    const start = this.#at;
    let escaped = false;
    this.#at += 1;
    for (;;) {
      const unit = this.#text.charCodeAt(this.#at);
      if (unit === 0x22) break;
      if (unit === 0x5c) {
        escaped = true;
        this.#scanEscape();
      } else if (unit >= 0x20) {
        this.#at += 1;
      } else if (Number.isNaN(unit)) {
        this.#refuseSyntax("no end of the string");
      } else {
        this.#refuseSyntax("a control character that is not escaped");
      }
    }
    this.#at += 1;
    if (!escaped) return this.#text.slice(start + 1, this.#at - 1);
    return String(JSON.parse(this.#text.slice(start, this.#at)));
  }

  #scanEscape(): void {
    const start = this.#at;
    const digits = this.#match(ESCAPE);
    if (digits === undefined) this.#refuseSyntax("an escape that JSON does not have");
    const unit = Number.parseInt(digits[1] ?? "0", 16);
    if (unit < 0xd800 || unit > 0xdfff) return;
    // The text came from UTF-8, so the other half cannot stand there unescaped.
    if (unit > 0xdbff || this.#match(LOW_SURROGATE) === undefined) {
      this.#refuse("lone_surrogate", start, "half of a surrogate pair");
    }
  }

  #scanNumber(): void {
    const start = this.#at;
    const match = this.#match(NUMBER);
    if (match === undefined) {
      if (this.#match(NOT_A_NUMBER) !== undefined) {
        this.#refuse("not_a_number", start, "NaN or Infinity");
      }
      this.#refuseSyntax("no value");
    }
    const [token, fraction, exponent] = match;
    if (fraction === undefined && exponent === undefined) {
      const digits = token.replace("-", "");
      const longer = digits.length - INTEGER_DIGITS_MAX.length;
      if (longer > 0 || (longer === 0 && digits > INTEGER_DIGITS_MAX)) {
        this.#refuse("integer_beyond_2_53", start, "an integer beyond 2^53");
      }
    } else if (!Number.isFinite(Number(token))) {
      this.#refuse("number_overflow", start, "a number beyond the range of a double");
    }
  }

  #skipSpace(): void {
    for (;;) {
      const unit = this.#text.charCodeAt(this.#at);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return;
      this.#at += 1;
    }
  }

  /** Skips white space and, when it comes next, the mark. */
  #accept(mark: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#at] !== mark) return false;
    this.#at += 1;
    return true;
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#at = pattern.lastIndex;
    return match;
  }

  #refuseSyntax(found: string): never {
    const ended = this.#at >= this.#text.length;
    this.#refuse("syntax", this.#at, ended ? `the end of the document, and ${found}` : found);
  }

  #refuse(reason: JsonRefusalReason, index: number, found: string): never {
    const offset = utf8ByteLength(this.#text.slice(0, index));
    throw new Refused(refuseJson(reason, offset, this.#path, found));
  }
}

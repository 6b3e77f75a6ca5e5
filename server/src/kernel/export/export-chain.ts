/**
 * The lines of an export of runs: JSON objects whose last field, `chain`, is a SHA-256 over the line before and all of this one, so that
 * a line that was changed, left out or moved is found, and the first such line named. docs/internals/export-format.md has every kind.
 */

import { toHex } from "../../log/bytes.js";
import { sha256 } from "../../log/sha256.js";

/** The format that this version writes and reads. */
export const EXPORT_FORMAT: number = 1;

const ORIGIN = "pawl.export.v1";
const FIELD = ',"chain":"';
const HEX_CHARACTERS = 64;
const END = '"}';
const TAIL_CHARACTERS = FIELD.length + HEX_CHARACTERS + END.length;

/** A JSON value as it is written. */
export type ExportJson =
  | string
  | number
  | boolean
  | null
  | readonly ExportJson[]
  | { readonly [name: string]: ExportJson };

/** Where a chain of lines stands. Starts at its origin. */
export class ExportChain {
  #last: Uint8Array = sha256(Buffer.from(ORIGIN));

  /** The next line, without its line feed. `fields` has at least one. */
  write(fields: { readonly [name: string]: ExportJson }): string {
    const body = JSON.stringify(fields).slice(0, -1);
    this.#last = this.#next(body);
    return `${body}${FIELD}${toHex(this.#last)}${END}`;
  }

  /** Takes in a line. False: its chain does not follow from the line before and its own bytes, and nothing more can be said of those behind it. */
  read(line: string): boolean {
    const at = line.length - TAIL_CHARACTERS;
    if (at < 1 || !line.startsWith(FIELD, at) || !line.endsWith(END)) {
      return false;
    }
    const expected = this.#next(line.slice(0, at));
    if (line.slice(at + FIELD.length, -END.length) !== toHex(expected)) {
      return false;
    }
    this.#last = expected;
    return true;
  }

  #next(body: string): Uint8Array {
    return sha256(Buffer.concat([this.#last, Buffer.from(body, "utf8")]));
  }
}

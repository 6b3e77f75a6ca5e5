/** Why a document is refused. Each stands for documents that two readers would understand differently. */
export type JsonRefusalReason =
  /** A byte sequence that is no UTF-8. */
  | "invalid_utf8"
  /** Not JSON as of RFC 8259 (a byte order mark, a comment and a trailing comma neither). */
  | "syntax"
  /** One object with two members of the same name, however they are escaped. */
  | "duplicate_key"
  /** A `\u` escape of half a surrogate pair. */
  | "lone_surrogate"
  /** A number without fraction and exponent whose magnitude is above 2^53. */
  | "integer_beyond_2_53"
  /** A number whose magnitude no double can hold, such as `1e400`. */
  | "number_overflow"
  /** `NaN`, `Infinity` or `-Infinity`. */
  | "not_a_number"
  /** More than `JSON_DEPTH_MAX` arrays and objects inside each other. */
  | "too_deep";

/** A refused document: what is wrong, and where. Plain data, so that it can come from a worker thread. */
export interface JsonRefusal {
  readonly code: "PAWL_JSON_REFUSED";
  readonly reason: JsonRefusalReason;
  /** Offset of the first byte of what is refused; the length of the document when it ends too early. */
  readonly offset: number;
  /** RFC 6901 pointer to the value, member or element being read; at most `JSON_PATH_LENGTH_MAX` characters. */
  readonly path: string;
  /** A sentence that says what was expected, what is there, and what to do. Quotes no values. */
  readonly message: string;
}

/** Greatest number of arrays and objects inside each other. */
export const JSON_DEPTH_MAX: number = 100;

/** Greatest length of the pointer in a refusal, in UTF-16 code units; a longer one ends in `…`. */
export const JSON_PATH_LENGTH_MAX: number = 512;

const REMEDY: Readonly<Record<JsonRefusalReason, string>> = {
  invalid_utf8: "send JSON as UTF-8, or name another content type",
  syntax: "send JSON as RFC 8259 has it",
  duplicate_key: "give each member of an object its own name",
  lone_surrogate: "escape both halves of the pair, or none",
  integer_beyond_2_53: "send it as a string",
  number_overflow: "send it as a string",
  not_a_number: "send null or a string",
  too_deep: "nest the document less deeply",
};

/** Makes the refusal of a document, with its sentence. */
export function refuseJson(
  reason: JsonRefusalReason,
  offset: number,
  path: readonly (string | number)[],
  found: string,
): JsonRefusal {
  const pointer = formatPointer(path);
  const place = pointer === "" ? `at byte ${offset}` : `at byte ${offset} (${pointer})`;
  return {
    code: "PAWL_JSON_REFUSED",
    reason,
    offset,
    path: pointer,
    message: `Expected JSON that every reader understands alike, but ${place} there is ${found}; ${REMEDY[reason]}.`,
  };
}

function formatPointer(path: readonly (string | number)[]): string {
  let pointer = "";
  for (const segment of path) {
    pointer += `/${String(segment).replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (pointer.length > JSON_PATH_LENGTH_MAX) {
      return `${pointer.slice(0, JSON_PATH_LENGTH_MAX - 1).replace(/[\ud800-\udbff]$/, "")}…`;
    }
  }
  return pointer;
}

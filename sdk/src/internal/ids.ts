import { DefinitionInvalid } from "../errors.js";

/** Longest id or name, in bytes of UTF-8; the kernel's own bound. */
const ID_BYTES_MAX = 200;

/** Longest target of an operation, in bytes of UTF-8. */
const TARGET_BYTES_MAX = 1_024;

/**
 * Checks an id or a name by the kernel's rules, so that a mistake is found where it is made: 1 to 200 bytes of UTF-8,
 * well-formed, without NUL. An empty id never means "make one".
 *
 * @param field What it is, for the error.
 * @throws DefinitionInvalid
 */
export function checkId(value: string, field: string): string {
  if (typeof value !== "string" || value.length === 0) {
    throw invalid(
      field,
      `1 to ${ID_BYTES_MAX} bytes`,
      value === "" ? "empty" : `a ${typeof value}`,
    );
  }
  return checkText(value, field, ID_BYTES_MAX);
}

/**
 * Checks the target of an operation: 0 to 1,024 bytes, well-formed, without NUL.
 *
 * @throws DefinitionInvalid
 */
export function checkTarget(value: string): string {
  return checkText(value, "target", TARGET_BYTES_MAX);
}

/**
 * Checks a text by the kernel's rules: well-formed, without NUL, at most so many bytes of UTF-8.
 *
 * @throws DefinitionInvalid
 */
export function checkText(value: string, field: string, bytesMax: number): string {
  if (!value.isWellFormed()) {
    throw invalid(field, "well-formed Unicode", "a text with half a surrogate pair");
  }
  if (value.includes("\0")) {
    throw invalid(field, "text without NUL", "one with NUL");
  }
  // A UTF-16 unit is at most three bytes: most texts need not be counted.
  const bytes = value.length * 3 <= bytesMax ? 0 : Buffer.byteLength(value);
  if (bytes > bytesMax) {
    throw invalid(field, `at most ${bytesMax} bytes`, `${bytes} bytes`);
  }
  return value;
}

function invalid(field: string, expected: string, actual: string): DefinitionInvalid {
  return new DefinitionInvalid(
    `Expected ${field} to be ${expected}, but it is ${actual}. Choose another one.`,
  );
}

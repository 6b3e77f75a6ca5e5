import { limits } from "../limits.js";
import { findLoneSurrogate, utf8ByteLength } from "./utf8.js";

/** What an identifying string names; each kind has its own greatest length. */
export type IdKind =
  | "namespace"
  | "run_id"
  | "workflow"
  | "task"
  | "step"
  | "operation"
  | "discriminator"
  | "kind"
  | "queue"
  | "worker"
  | "request_id"
  | "target";

/** The rule that an id breaks, in the order in which the rules are checked. */
export type IdBound = "not_empty" | "well_formed_unicode" | "no_nul" | "bytes_max";

/** Why a value is refused as an id. It never quotes the value, which may be long or secret. */
export interface IdProblem {
  /** Where the value came from, for example `starts[3].run_id`. */
  readonly field: string;
  readonly bound: IdBound;
  /** What every value of this field must be, as a phrase: "1 to 200 bytes of UTF-8". */
  readonly expected: string;
  /** What this one is, as a phrase: "201 bytes". */
  readonly actual: string;
}

/** Least and greatest length of an id, in bytes of UTF-8. */
export interface IdBytesBound {
  readonly bytesMin: number;
  readonly bytesMax: number;
}

const ID_BYTES: IdBytesBound = { bytesMin: 1, bytesMax: limits.idBytesMax };
const TARGET_BYTES: IdBytesBound = { bytesMin: 0, bytesMax: limits.targetBytesMax };

/** The bound on this kind of id: 1 to 200 bytes, but 0 to 1,024 for a target, which may be empty. */
export function idBytesBound(kind: IdKind): IdBytesBound {
  return kind === "target" ? TARGET_BYTES : ID_BYTES;
}

/**
 * Checks one identifying string: not empty (but for a target), well-formed Unicode, no NUL, at most as long as
 * `idBytesBound(kind)` allows. Ids are compared as bytes: nothing is trimmed, folded or normalised, and an empty id never means "make one".
 *
 * @param field Name of the field in the answer; default: the kind.
 * @returns The first rule that is broken, or undefined when the id is good.
 */
export function checkId(kind: IdKind, value: string, field: string = kind): IdProblem | undefined {
  const { bytesMin, bytesMax } = idBytesBound(kind);
  if (value.length < bytesMin) {
    return { field, bound: "not_empty", expected: phraseBound(kind), actual: "empty" };
  }
  const lone = findLoneSurrogate(value);
  if (lone >= 0) {
    const unit = value.charCodeAt(lone).toString(16).toUpperCase();
    return {
      field,
      bound: "well_formed_unicode",
      expected: "well-formed Unicode",
      actual: `a text with the lone surrogate U+${unit} at character ${lone}`,
    };
  }
  const nul = value.indexOf("\0");
  if (nul >= 0) {
    return {
      field,
      bound: "no_nul",
      expected: "text without NUL",
      actual: `a text with NUL at character ${nul}`,
    };
  }
  const length = utf8ByteLength(value);
  if (length > bytesMax) {
    const actual = `${length} bytes`;
    return { field, bound: "bytes_max", expected: phraseBound(kind), actual };
  }
  return undefined;
}

function phraseBound(kind: IdKind): string {
  const { bytesMin, bytesMax } = idBytesBound(kind);
  return `${bytesMin} to ${bytesMax} bytes of UTF-8`;
}

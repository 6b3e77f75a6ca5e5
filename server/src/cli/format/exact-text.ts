import { escapeCharacter } from "./text.js";

/** What is not seen, or looks like something else: beside what is unsafe, blanks that look like a space, characters of nobody or of private use, and marks on nothing. */
const AMBIGUOUS =
  /[\p{Cc}\p{Zl}\p{Zp}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}|(?<![\p{L}\p{N}\p{M}])\p{M}/gu;

const MARKS = /\p{M}/gu;

/**
 * Text in one line, so that no two texts look the same: as it is where nothing in it could be mistaken, else in quotes with
 * escapes as in JSON. (Letters of several scripts that are drawn alike are left to the reader.)
 */
export function exactText(text: string): string {
  const isPlain = text !== "" && text.trim() === text && !/["\\]/.test(text);
  const escaped = escapeAmbiguous(text.replace(/["\\]/g, "\\$&"));
  return isPlain && escaped === text ? text : `"${escaped}"`;
}

/** One line of a text of many, likewise: without quotes, its last blank as an escape. */
export function exactLine(text: string): string {
  return escapeAmbiguous(text.replaceAll("\\", "\\\\")).replace(/ $/, "\\u0020");
}

/** JSON in one line: blanks between tokens dropped, numbers and names as they were written, and what could be mistaken as the escape that means the same. */
export function exactJson(text: string): string {
  return escapeAmbiguous(compactJson(text));
}

/** Drops white space between tokens only; numbers and names stay as they were written. */
export function compactJson(text: string): string {
  return text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, (_, string: string | undefined) => string ?? "");
}

/** Composed and decomposed letters look the same: the marks of a text that is not composed are shown as what they are. */
function escapeAmbiguous(text: string): string {
  const marked = text === text.normalize("NFC") ? text : text.replace(MARKS, escapeCharacter);
  return marked.replace(AMBIGUOUS, escapeCharacter);
}

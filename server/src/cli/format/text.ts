/**
 * What a terminal does not show, or acts upon: controls, ends of lines, marks of reading direction and other formats, what is ignored
 * by default (blanks without width among it), and halves of surrogate pairs.
 */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}]/u;

const PLAIN = /^[ -~]*$/;

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const NAMED_ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };

/** True for text in which `clean` has something to escape. */
export function isUnsafe(text: string): boolean {
  return text.search(UNSAFE) >= 0;
}

/**
 * Text from elsewhere in one safe line: what would move the cursor, colour the terminal, turn the
 * reading direction or not be seen at all is shown as an escape.
 */
export function clean(text: string): string {
  return text.replace(UNSAFE, escapeCharacter);
}

/** A character as JSON escapes it. */
export function escapeCharacter(character: string): string {
  const named = NAMED_ESCAPES[character];
  if (named !== undefined) return named;
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** The same for text of several lines, which stay lines. */
export function cleanLines(text: string): string {
  return text.split("\n").map(clean).join("\n");
}

/** Columns that text takes on a terminal. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

/** Fills text up to a width. */
export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

/** Cuts text to a number of characters, visibly. */
export function shorten(text: string, charactersMax: number): string {
  const characters = [...text];
  return characters.length <= charactersMax
    ? text
    : `${characters.slice(0, charactersMax - 1).join("")}…`;
}

/** A count with its noun: `1 task`, `2 tasks`. */
export function count(amount: number | bigint, noun: string, plural = `${noun}s`): string {
  return `${formatNumber(amount)} ${Number(amount) === 1 ? noun : plural}`;
}

/** A number with its thousands apart. */
export function formatNumber(value: number | bigint): string {
  return value.toLocaleString("en-US");
}

/** The text as a sentence: with a full stop, unless it ends in a mark of its own. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === "" || /[.!?…:]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is made visible.
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}]/u;

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const NAMED_ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };

/**
 * Text from elsewhere in one safe line: what would move the cursor, colour the terminal or turn the
 * reading direction is shown as an escape.
 */
export function clean(text: string): string {
  return text.replace(
    UNSAFE,
    (character) =>
      NAMED_ESCAPES[character] ??
      `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}

/** The same for text of several lines, which stay lines. */
export function cleanLines(text: string): string {
  return text.split("\n").map(clean).join("\n");
}

/** Columns that text takes on a terminal. */
export function displayWidth(text: string): number {
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

import { displayWidth } from "./text.js";

/** Columns of a line that is shown whole; what is longer is folded. With its margin it fits a terminal of 80. */
export const LINE_COLUMNS = 74;

/** Columns of text that still stands on the line of its name. */
export const INLINE_COLUMNS = 60;

/** An escape is never cut, nor is a letter from its marks. */
const PIECES = /\\u[0-9a-f]{4}|\\.|\P{M}\p{M}*|\p{M}+/giu;

/** A blank at the end of a folded line would not be seen, so it is shown as the escape that means the same. */
const ENDING_BLANK = / $/;

/**
 * Lines as they are printed below a name. Each begins with `|`; what goes on from the line before begins with `>`, so that nobody takes one
 * line for two. `lines` have no characters that are not seen; a blank stands at an end only where it is escaped.
 */
export function foldLines(lines: readonly string[]): string[] {
  return lines.flatMap((line) =>
    foldLine(line).map((part, index) => `    ${index === 0 ? "|" : ">"} ${part}`),
  );
}

/** Folds at the end of a line of the text itself, which stands as an escape, else before a blank, else where the room ends. */
function foldLine(line: string): string[] {
  if (displayWidth(line) <= LINE_COLUMNS) return [line];
  const parts: string[] = [];
  let part = "";
  let width = 0;
  const end = (rest = ""): void => {
    parts.push(part.replace(ENDING_BLANK, "\\u0020"));
    part = rest;
    width = displayWidth(rest);
  };
  for (const [piece] of line.matchAll(PIECES)) {
    const more = displayWidth(piece);
    if (width + more > LINE_COLUMNS && part !== "") {
      const blank = part.lastIndexOf(" ");
      const word = blank > part.length / 2 ? part.slice(blank) : "";
      part = part.slice(0, part.length - word.length);
      end(word);
    }
    part += piece;
    width += more;
    if (piece === "\\n") end();
  }
  return part === "" ? parts : [...parts, part];
}

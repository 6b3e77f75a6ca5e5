import { clean } from "./text.js";

/** What begins or ends something in GitHub-flavoured Markdown. */
const PUNCTUATION = /[\\`*_{}[\]()#+\-.!|~$]/g;

/** Marks after which GitHub makes a link of what follows: a person, an issue, an address. A comment in between holds it back, and is not seen. */
const LINKED = /@|#(?=\d)|:(?=\/\/)|\bwww(?=\.)/gi;
/** Stands for the comment until everything else is escaped: `clean` leaves no such character. */
const BREAK = "\u0000";

/**
 * Text from elsewhere, such that Markdown shows it as it is, in one line: nothing in it is a heading, a link, a cell's border, HTML, or calls
 * somebody by name.
 */
export function markdownText(text: string): string {
  return clean(text)
    .replace(LINKED, (mark) => `${mark}${BREAK}`)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replace(PUNCTUATION, (mark) => `\\${mark}`)
    .replaceAll(BREAK, "<!-- -->");
}

/** A name from elsewhere as code. Empty text gives nothing. */
export function markdownCode(text: string): string {
  if (text === "") return "";
  const safe = clean(text);
  const runs = safe.match(/`+/g) ?? [];
  const fence = "`".repeat(Math.max(0, ...runs.map(({ length }) => length)) + 1);
  // A blank at both ends is taken off again; without it a backtick there would join the fence, and a blank there would be lost.
  const needsBlank = /^[` ]|[` ]$/.test(safe);
  const body = needsBlank ? ` ${safe} ` : safe;
  return `${fence}${body}${fence}`;
}

/** The same within a table, where a cell ends at a bar even in code, unless it is held back. */
export function markdownCell(text: string): string {
  return markdownCode(text).replaceAll("|", "\\|");
}

/** A table; cells are Markdown already. */
export function markdownTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(headings), line(headings.map(() => "---")), ...rows.map(line)];
}

/** Lines that are folded until somebody opens them. The summary is our own text. */
export function markdownDetails(summary: string, lines: readonly string[]): string[] {
  return [`<details><summary>${summary}</summary>`, "", ...lines, "", "</details>"];
}

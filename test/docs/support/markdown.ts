/** What the tests of the documentation read of a page. */

/** A fenced block of code. */
export interface Fence {
  /** First word behind the fence, for example `ts`. Empty when there is none. */
  readonly language: string;
  readonly text: string;
  /** Line of its first line of code, from 1. */
  readonly line: number;
  /** True when `<!-- fragment -->` stands right before it. */
  readonly isFragment: boolean;
}

/** A link to something in the repository. */
export interface Link {
  readonly target: string;
  readonly line: number;
}

interface Line {
  readonly text: string;
  readonly number: number;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)/;

/** The fenced blocks of a page. */
export function readFences(page: string): Fence[] {
  return split(page).fences;
}

/** The page without its fenced blocks, with the number of each line. */
export function readProse(page: string): Line[] {
  return split(page).prose;
}

function split(page: string): { readonly fences: Fence[]; readonly prose: Line[] } {
  const fences: Fence[] = [];
  const prose: Line[] = [];
  let open:
    | { mark: string; language: string; line: number; lines: string[]; isFragment: boolean }
    | undefined;
  for (const [index, text] of page.split("\n").entries()) {
    const [, mark = "", info = ""] = FENCE.exec(text) ?? [];
    if (open === undefined) {
      if (mark === "") {
        prose.push({ text, number: index + 1 });
        continue;
      }
      const before = prose.findLast((line) => line.text.trim() !== "")?.text.trim();
      const isFragment = before === "<!-- fragment -->";
      open = { mark, language: info, line: index + 2, lines: [], isFragment };
    } else if (mark.startsWith(open.mark) && text.trim() === mark) {
      const { language, line, lines, isFragment } = open;
      fences.push({ language, text: lines.join("\n"), line, isFragment });
      open = undefined;
    } else {
      open.lines.push(text);
    }
  }
  if (open !== undefined) {
    throw new Error(`Expected the fence of line ${open.line - 1} to be closed, but it is not.`);
  }
  return { fences, prose };
}

/** The anchors that a page's headings have, as GitHub makes them. */
export function readAnchors(page: string): Set<string> {
  const anchors = new Set<string>();
  for (const { text } of readProse(page)) {
    const [, heading] = /^#{1,6}\s+(.*?)\s*#*$/.exec(text) ?? [];
    if (heading === undefined) continue;
    const slug = slugOf(heading);
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

function slugOf(heading: string): string {
  return heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
    .replaceAll(" ", "-");
}

/** The links of a page, in prose and in tables; code is left out. */
export function readLinks(page: string): Link[] {
  return readProse(page).flatMap(({ text, number }) => {
    const plain = text.replaceAll(/(`+)[^`]*?\1/g, (code) => " ".repeat(code.length));
    const inline = [...plain.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)];
    const defined = [...plain.matchAll(/^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)/g)];
    return [...inline, ...defined].map(([, target = ""]) => ({ target, line: number }));
  });
}

/** The texts in backticks of a page's prose. */
export function readInlineCode(page: string): Line[] {
  return readProse(page).flatMap(({ text, number }) =>
    [...text.matchAll(/(`+)([^`]+?)\1/g)].map(([, , code = ""]) => ({ text: code, number })),
  );
}

/** The rows of the table below a heading: one array of cells each, without head and rule. */
export function readTable(page: string, heading: string): string[][] {
  const lines = readProse(page);
  const start = lines.findIndex(({ text }) => /^#{1,6} /.test(text) && text.endsWith(heading));
  if (start === -1) throw new Error(`Expected a heading "${heading}", but there is none.`);
  const rows: string[][] = [];
  for (const { text } of lines.slice(start + 1)) {
    if (/^#{1,6} /.test(text)) break;
    if (text.startsWith("|")) rows.push(cellsOf(text));
  }
  return rows.slice(2);
}

function cellsOf(row: string): string[] {
  return row
    .trim()
    .replaceAll(/^\||\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}

import { LINE_COLUMNS } from "./fold.js";
import { displayWidth } from "./text.js";

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g;

/** Deeper levels are not moved further to the right: they would leave no room for what they say. */
const INDENT_MAX = 20;

/** A bracket that opens: where it closes, and how wide all of it is in one line. */
interface Extent {
  readonly close: number;
  readonly width: number;
}

/**
 * JSON in lines: what fits stands in one line, else each member has a line of its own. Numbers, names and strings stay as they were written.
 *
 * @param text Valid JSON.
 */
export function jsonLines(text: string): string[] {
  const tokens = text.match(TOKENS) ?? [];
  const extents = measure(tokens);
  const lines: string[] = [];
  let depth = 0;
  let line = "";
  const breakLine = (): void => {
    lines.push(line.trimEnd());
    line = "  ".repeat(Math.min(depth, INDENT_MAX));
  };
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] ?? "";
    const extent = extents.get(at);
    if (extent !== undefined && staysWhole(extent, at, line)) {
      line += flat(tokens.slice(at, extent.close + 1));
      at = extent.close;
    } else if (extent !== undefined) {
      line += token;
      depth += 1;
      breakLine();
    } else if (token === "}" || token === "]") {
      depth -= 1;
      breakLine();
      line += token;
    } else {
      line += spaced(token);
      if (token === ",") breakLine();
    }
  }
  lines.push(line);
  return lines;
}

/** What is empty stays together, whatever room there is; a comma may follow what fits. */
function staysWhole({ close, width }: Extent, at: number, line: string): boolean {
  return close === at + 1 || displayWidth(line) + width < LINE_COLUMNS;
}

/** True for JSON. */
export function isValidJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function flat(tokens: readonly string[]): string {
  return tokens.map(spaced).join("");
}

function spaced(token: string): string {
  return token === ":" || token === "," ? `${token} ` : token;
}

/** The extents of all brackets, by where they open, in one pass: JSON may be nested deeper than calls can be. */
function measure(tokens: readonly string[]): Map<number, Extent> {
  const extents = new Map<number, Extent>();
  const open: { readonly at: number; readonly before: number }[] = [];
  let width = 0;
  for (const [at, token] of tokens.entries()) {
    if (token === "{" || token === "[") open.push({ at, before: width });
    width += displayWidth(spaced(token));
    const start = token === "}" || token === "]" ? open.pop() : undefined;
    if (start !== undefined) extents.set(start.at, { close: at, width: width - start.before });
  }
  return extents;
}

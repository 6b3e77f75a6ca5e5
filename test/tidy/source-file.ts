import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Comment, type ParseResult, parseSync } from "oxc-parser";

/** The repository's folder, with a slash at its end. */
export const REPOSITORY: string = fileURLToPath(new URL("../../", import.meta.url));

/** A file of the repository, or one that a test made up. */
export interface TextFile {
  /** Relative to the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** A parsed TypeScript or JavaScript file. */
export interface SourceFile extends TextFile {
  readonly parsed: ParseResult;
  readonly comments: readonly Comment[];
  /** What it imports or re-exports, in types and in dynamic imports too. */
  readonly specifiers: readonly string[];
}

/** What is built, installed, generated or kept by a running kernel is not written by us. */
const NOT_OURS = new Set(["node_modules", "dist", "gen", "coverage"]);

/**
 * Lists what is written by hand in the repository. It walks the folders, since a tree that was
 * unpacked from a tarball has no git to ask.
 */
export function listTextFiles(isWanted: (path: string) => boolean): TextFile[] {
  const found: TextFile[] = [];
  const walk = (below: string): void => {
    for (const entry of readdirSync(join(REPOSITORY, below), { withFileTypes: true })) {
      const path = `${below}${entry.name}`;
      if (entry.isDirectory() && isOurFolder(entry.name)) walk(`${path}/`);
      if (entry.isFile() && isWanted(path)) {
        found.push({ path, text: readFileSync(join(REPOSITORY, path), "utf8") });
      }
    }
  };
  walk("");
  return found;
}

function isOurFolder(name: string): boolean {
  return !NOT_OURS.has(name) && (!name.startsWith(".") || name === ".ci");
}

/** Whether a path names TypeScript or JavaScript. */
export function isCode(path: string): boolean {
  return /\.(?:ts|mjs|cjs|js)$/.test(path);
}

/**
 * Parses one file.
 *
 * @throws Error when it is no TypeScript: a file that cannot be read must not pass as clean
 */
export function parseSource({ path, text }: TextFile): SourceFile {
  const parsed = parseSync(path, text);
  const [error] = parsed.errors;
  if (error !== undefined) throw new Error(`expected ${path} to parse, but ${error.message}`);
  return {
    path,
    text,
    parsed,
    comments: parsed.comments,
    specifiers: listSpecifiers(parsed, text),
  };
}

function listSpecifiers({ module, comments }: ParseResult, text: string): string[] {
  const imported = module.staticImports.map((item) => item.moduleRequest.value);
  const exported = module.staticExports
    .flatMap((item) => item.entries)
    .flatMap((entry) => (entry.moduleRequest === null ? [] : [entry.moduleRequest.value]));
  // Dynamic imports, and `import("…")` in a type, which the parser's module record leaves out.
  const called = [...text.matchAll(/\bimport\(\s*["']([^"']+)["']/g)]
    .filter(({ index }) => !comments.some(({ start, end }) => start <= index && index < end))
    .map(([, specifier = ""]) => specifier);
  return [...new Set([...imported, ...exported, ...called])];
}

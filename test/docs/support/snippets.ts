import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseSync } from "oxc-parser";
import { REPOSITORY, type TextFile } from "../../tidy/source-file.js";
import { type Fence, readFences } from "./markdown.js";

/** A block of TypeScript of a page. */
export interface Snippet extends Fence {
  /** Where it goes in the project: a folder for each page, a file for each block. */
  readonly path: string;
}

/**
 * The TypeScript of a page. A block that begins with `// name.ts` becomes the file of that name, so that later blocks
 * of the page can import it; any other stands alone.
 */
export function readSnippets({ path, text }: TextFile): Snippet[] {
  const folder = path.replace(/\.md$/, "");
  return readFences(text)
    .filter(({ language }) => language === "ts")
    .map((fence, index) => {
      const [, name = `block-${index + 1}.ts`] = /^\/\/ ([\w-]+\.ts)\n/.exec(fence.text) ?? [];
      return { ...fence, path: `${folder}/${name}` };
    });
}

/** True for a block of declarations without bodies: it says what exists, and there is nothing in it that could run. */
export function isSignature(code: string): boolean {
  const { errors, program } = parseSync("signature.d.ts", code);
  const kinds = new Set([
    "TSInterfaceDeclaration",
    "TSTypeAliasDeclaration",
    "TSDeclareFunction",
    "ExportNamedDeclaration",
  ]);
  return errors.length === 0 && program.body.every(({ type }) => kinds.has(type));
}

/** True when the whole lines of a text stand in a file, one after the other. */
export function isExcerpt(text: string, file: string): boolean {
  return text.trim() !== "" && `\n${file}\n`.includes(`\n${text}\n`);
}

/** A folder outside the repository that finds the repository's packages. */
export interface Project {
  readonly path: string;
  readonly write: (path: string, text: string) => void;
  readonly remove: () => void;
}

/** Makes one. */
export function makeProject(): Project {
  const path = mkdtempSync(join(tmpdir(), "pawl-docs-"));
  symlinkSync(join(REPOSITORY, "node_modules"), join(path, "node_modules"));
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  };
  write("package.json", JSON.stringify({ type: "module" }));
  return { path, write, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Writes a snippet so that a line of its file is the same line of its page. */
export function writeSnippet(project: Project, { path, text, line }: Snippet): void {
  project.write(path, `${"\n".repeat(line - 1)}${text}\n`);
}

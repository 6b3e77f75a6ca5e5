import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** Folders that hold no sources of ours. */
const NOT_SOURCES = new Set(["node_modules", "dist", "coverage"]);

/**
 * Lists the files below a folder, in a fixed order, leaving out what is built, installed or hidden.
 *
 * @param {string} folder
 * @param {(name: string) => boolean} isWanted asked with the file's name
 * @param {ReadonlySet<string>} [leftOut] names of folders not to go into
 * @returns {string[]} paths relative to the folder, with forward slashes
 */
export function listFiles(folder, isWanted, leftOut = NOT_SOURCES) {
  /** @type {string[]} */
  const found = [];
  /** @param {string} below */
  const walk = (below) => {
    const entries = readdirSync(join(folder, below), { withFileTypes: true });
    for (const entry of entries.filter(({ name }) => !name.startsWith(".")).sort(byName)) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory() && !leftOut.has(entry.name)) walk(path);
      if (entry.isFile() && isWanted(entry.name)) found.push(path);
    }
  };
  if (existsSync(folder)) walk("");
  return found;
}

/**
 * @param {{ name: string }} a
 * @param {{ name: string }} b
 */
function byName(a, b) {
  return a.name < b.name ? -1 : 1;
}

/**
 * One digest over named contents; a moved byte between two of them changes it.
 *
 * @param {Iterable<readonly [name: string, content: string | Buffer]>} parts
 * @returns {string} hex
 */
export function digestOf(parts) {
  const hash = createHash("sha256");
  for (const [name, content] of parts) {
    hash.update(`${Buffer.byteLength(name)}:${name}:${Buffer.byteLength(content)}:`);
    hash.update(content);
  }
  return hash.digest("hex");
}

/**
 * Reads a small JSON file that set-up itself wrote.
 *
 * @param {string} path
 * @returns {unknown} nothing when it is not there or not whole: it is then made anew
 */
export function readJsonIfWhole(path) {
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Writes a file beside its place and renames it there, so that nobody ever reads half of it.
 *
 * @param {string} path
 * @param {string} content
 */
export function writeWhole(path, content) {
  mkdirSync(dirname(path), { recursive: true });
  const beside = `${path}.${process.pid}.new`;
  writeFileSync(beside, content);
  renameSync(beside, path);
}

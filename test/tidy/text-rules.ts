import { type ExportNamedDeclaration, Visitor } from "oxc-parser";
import type { SourceFile, TextFile } from "./source-file.js";

/** No file of code is longer than this. */
const LINES_MAX = 500;

/** Words that mark unfinished work. Spelt so that this file does not find itself. */
const LEFTOVERS = new RegExp(
  `\\b(?:${["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"].join("|")})\\b`,
);

/** A test that was singled out by hand hides all others. */
const SINGLED_OUT = /\b(?:it|test|describe)(?:\.\w+)*\.only\b/;

/** Globals through which time, chance or the machine would get into the core. */
const IMPURE_OBJECTS = new Set(["Date", "performance", "crypto", "process", "globalThis"]);
const IMPURE_CALLS = new Set(["Date", "setTimeout", "setInterval", "setImmediate", "fetch"]);

/** Says when a file of code is longer than 500 lines. */
export function findTooLong({ path, text }: TextFile): string[] {
  const lines = text.replace(/\n$/, "").split("\n").length;
  return lines > LINES_MAX ? [`${path}: has ${lines} lines, more than ${LINES_MAX}`] : [];
}

/** Finds marks of unfinished work anywhere, and tests singled out by hand. */
export function findLeftovers({ path, text }: TextFile): string[] {
  return text.split("\n").flatMap((line, index) => {
    const found = LEFTOVERS.exec(line) ?? SINGLED_OUT.exec(line);
    return found === null ? [] : [`${path}:${index + 1}: has a leftover, ${found[0]}`];
  });
}

/** Finds default exports; tools that demand one are told by the file's name. */
export function findDefaultExports({ path, parsed }: SourceFile): string[] {
  const isDemanded = /\.config\.ts$|(?:^|\/)[a-z-]+-reporter\.ts$/.test(path);
  const entries = parsed.module.staticExports.flatMap((item) => item.entries);
  const isDefault = entries.some(
    ({ exportName }) => exportName.kind === "Default" || exportName.name === "default",
  );
  return !isDemanded && isDefault ? [`${path}: has a default export`] : [];
}

/** Finds what the core may not use: clocks, chance, timers, the process. */
export function findImpurities({ path, parsed }: SourceFile): string[] {
  const found: string[] = [];
  const note = (what: string): void => {
    found.push(`${path}: uses ${what}, but the core is pure`);
  };
  new Visitor({
    MemberExpression({ object, property }) {
      if (object.type !== "Identifier") return;
      if (IMPURE_OBJECTS.has(object.name)) note(object.name);
      const isNamed = property.type === "Identifier" || property.type === "PrivateIdentifier";
      if (object.name === "Math" && isNamed && property.name === "random") note("Math.random");
    },
    CallExpression({ callee }) {
      if (callee.type === "Identifier" && IMPURE_CALLS.has(callee.name)) note(callee.name);
    },
    NewExpression({ callee }) {
      if (callee.type === "Identifier" && IMPURE_CALLS.has(callee.name)) note(callee.name);
    },
  }).visit(parsed.program);
  return found;
}

/** The exports of a file that declare something, by name, and whether a docstring stands before. */
export function listDocumented(file: SourceFile): { name: string; isDocumented: boolean }[] {
  const found = new Map<string, boolean>();
  for (const statement of file.parsed.program.body) {
    if (statement.type !== "ExportNamedDeclaration" || statement.declaration === null) continue;
    const isDocumented = hasDocstring(file, statement);
    for (const name of namesOf(statement)) {
      // Of a function's overloads, the first carries the docstring.
      if (!found.has(name)) found.set(name, isDocumented);
    }
  }
  return [...found].map(([name, isDocumented]) => ({ name, isDocumented }));
}

/** Finds exports without a docstring. */
export function findUndocumented(file: SourceFile): string[] {
  return listDocumented(file)
    .filter(({ isDocumented }) => !isDocumented)
    .map(({ name }) => `${file.path}: exports ${name} without a docstring`);
}

function hasDocstring({ comments, text }: SourceFile, { start }: ExportNamedDeclaration): boolean {
  const before = comments.findLast(({ end }) => end <= start);
  if (before?.type !== "Block" || !before.value.startsWith("*")) return false;
  return text.slice(before.end, start).trim() === "" && /\w/.test(before.value);
}

function namesOf({ declaration }: ExportNamedDeclaration): string[] {
  if (declaration === null) return [];
  if (declaration.type === "VariableDeclaration") {
    return declaration.declarations.flatMap(({ id }) =>
      id.type === "Identifier" ? [id.name] : [],
    );
  }
  return "id" in declaration && declaration.id?.type === "Identifier" ? [declaration.id.name] : [];
}

// Module hooks of source-hooks.mjs: resolve ./x.js to ./x.ts among the sources, and drop the types.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { transformSync } from "rolldown/utils";

export function resolve(specifier, context, nextResolve) {
  const fromSource = context.parentURL?.endsWith(".ts") === true;
  if (fromSource && specifier.startsWith(".") && specifier.endsWith(".js")) {
    return nextResolve(`${specifier.slice(0, -3)}.ts`, context);
  }
  return nextResolve(specifier, context);
}

export async function load(url, context, nextLoad) {
  if (!url.endsWith(".ts")) return nextLoad(url, context);
  const path = fileURLToPath(url);
  const { code, errors } = transformSync(path, await readFile(path, "utf8"));
  if (errors.length > 0)
    throw new SyntaxError(`Expected ${path} to be TypeScript, but ${errors[0].message}`);
  return { format: "module", shortCircuit: true, source: code };
}

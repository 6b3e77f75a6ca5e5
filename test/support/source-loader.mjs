// Module hooks of source-hooks.mjs: resolve ./x.js to ./x.ts among the sources, drop the types, and turn `await using` into what Node.js 20 knows.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { transformSync } from "rolldown/utils";

/** The transformer takes its helper for the default of a module. */
const helper = "pawl:using-context";
const usingContext = new URL("./using-context.mjs", import.meta.url).href;

export function resolve(specifier, context, nextResolve) {
  if (specifier === "@oxc-project/runtime/helpers/usingCtx") {
    return { url: helper, shortCircuit: true };
  }
  const fromSource = context.parentURL?.endsWith(".ts") === true;
  if (fromSource && specifier.startsWith(".") && specifier.endsWith(".js")) {
    return nextResolve(`${specifier.slice(0, -3)}.ts`, context);
  }
  return nextResolve(specifier, context);
}

export async function load(url, context, nextLoad) {
  if (url === helper) {
    const source = `export { usingContext as default } from ${JSON.stringify(usingContext)};`;
    return { format: "module", shortCircuit: true, source };
  }
  if (!url.endsWith(".ts")) return nextLoad(url, context);
  const path = fileURLToPath(url);
  const { code, errors } = transformSync(path, await readFile(path, "utf8"), {
    target: "es2023",
  });
  if (errors.length > 0)
    throw new SyntaxError(`Expected ${path} to be TypeScript, but ${errors[0].message}`);
  return { format: "module", shortCircuit: true, source: code };
}

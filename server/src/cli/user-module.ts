import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { CliError, usageError } from "./cli-error.js";
import { exitCodes } from "./exit-codes.js";

/** What a module of the user exports. */
export type Exports = Readonly<Record<string, unknown>>;

/** The test kit of the SDK that a file of the user would itself import: its workflows are the ones that it knows. */
export async function loadTestKit<Kit>(path: string): Promise<Kit> {
  let found: string;
  try {
    found = createRequire(path).resolve("@pawl/sdk/testing");
  } catch (cause) {
    throw new CliError(
      `Expected the package @pawl/sdk where ${path} would import it from, but it is not there.`,
      {
        exitCode: exitCodes.refused,
        reason: "PAWL_SDK_MISSING",
        next: ["npm install @pawl/sdk"],
        cause,
      },
    );
  }
  const kit: Kit = await import(pathToFileURL(found).href);
  return kit;
}

/** What a file of the user exports. */
export async function loadUserModule(path: string): Promise<Exports> {
  try {
    const exported: Exports = await import(pathToFileURL(path).href);
    return exported;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw usageError(`Expected ${path} to be a module that can be loaded, but ${why}.`, [
      "Give the JavaScript that your TypeScript is built to.",
    ]);
  }
}

import { stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { CliError, usageError } from "./cli-error.js";
import { codeOf } from "./describe-error.js";
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
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) {
    const what = found === undefined ? "there is none" : "it is none";
    throw usageError(`Expected ${path} to be a file, but ${what}.`);
  }
  return runUserCode(path, async () => {
    try {
      const exported: Exports = await import(pathToFileURL(path).href);
      return exported;
    } catch (cause) {
      throw isNoJavaScript(cause) ? noJavaScript(path, cause) : cause;
    }
  });
}

/**
 * Runs what may run code of the user's file. What is refused with a reason of Pawl comes out as it is; anything else was thrown by that code, and is told with its stack.
 *
 * @param path The file.
 */
export async function runUserCode<Result>(
  path: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (isOfPawl(cause)) throw cause;
    const thrown = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    throw new CliError(`Expected the code of ${path} to run, but it threw: ${thrown}`, {
      exitCode: exitCodes.refused,
      reason: "PAWL_CLI_MODULE_THREW",
      next: ["Mend it where the text above says, and give the same command again."],
      cause,
    });
  }
}

function isOfPawl(thrown: unknown): boolean {
  const reason = codeOf(thrown);
  return thrown instanceof CliError || reason?.startsWith("PAWL_") === true;
}

/** Node.js could not even begin: what code throws names a place in a file. */
function isNoJavaScript(thrown: unknown): thrown is Error {
  if (!(thrown instanceof Error)) return false;
  if (codeOf(thrown) === "ERR_UNKNOWN_FILE_EXTENSION") return true;
  return thrown instanceof SyntaxError && !/^\s+at .*file:\/\//m.test(thrown.stack ?? "");
}

function noJavaScript(path: string, cause: Error): CliError {
  // Where it is stands before the calls of Node.js itself.
  const [what = cause.message] = (cause.stack ?? "").split(/\n\s+at /);
  return usageError(
    `Expected ${path} to be JavaScript that can be loaded, but it is not: ${what}`,
    ["Give the JavaScript that your TypeScript is built to."],
  );
}

import { PawlError } from "../errors.js";

/** Names in use within one attempt: a name is the identity of what it names. */
export class Names {
  readonly #uses = new Map<string, Error>();

  /**
   * Takes a name.
   *
   * @param what What is named, for the error, for example `step`.
   * @returns Gives the name back: what failed may be tried again under the same name.
   * @throws PawlError `PAWL_NAME_USED_TWICE`, with both places.
   */
  take(what: string, name: string, key: string | undefined): () => void {
    const identity = JSON.stringify([what, name, key ?? null]);
    const here = callFrom();
    const first = this.#uses.get(identity);
    if (first !== undefined) {
      const shown = key === undefined ? `"${name}"` : `"${name}" with key "${key}"`;
      throw new PawlError(
        "PAWL_NAME_USED_TWICE",
        `Expected each ${what} to have a name of its own, but ${shown} is used twice: first ${placeOf(first)}, then ${placeOf(here)}. ` +
          "Give another name, or a key in a loop.",
        { retryable: false },
      );
    }
    this.#uses.set(identity, here);
    return () => this.#uses.delete(identity);
  }
}

/** How deep the code of a call may lie below the SDK's own frames. */
const FRAMES = 24;

/** Where a call comes from. */
function callFrom(): Error {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = FRAMES;
  const here = new Error("used here");
  Error.stackTraceLimit = stackTraceLimit;
  return here;
}

/** The line of user code that made the call. */
function placeOf(error: Error): string {
  const lines = (error.stack ?? "").split("\n").slice(1);
  const own = lines.find(
    (line) => !/[\\/](sdk|@pawl[\\/]sdk)[\\/](src|dist)[\\/]/.test(line) && !line.includes("node:"),
  );
  return (own ?? lines[0] ?? "at an unknown place").trim();
}

import { PawlError } from "../errors.js";

/** Where something was called: its stack is made text only when somebody reads it. */
export interface CodePlace {
  readonly stack?: string;
}

/** Steps of one attempt of which the places are kept. To look at each of tens of thousands would be a good part of the time in which they are replayed. */
export const PLACES_MAX = 1_000;

/** A place that was not looked at. */
export const NOT_KEPT: CodePlace = { stack: "\nat a place that was not kept" };

/** Names in use within one attempt: a name is the identity of what it names. */
export class Names {
  readonly #uses = new Map<string, CodePlace>();

  /**
   * Takes a name.
   *
   * @param what What is named, for the error, for example `step`.
   * @param here Where it is called.
   * @returns What the name is given back with: what failed may be tried again under the same name.
   * @throws PawlError `PAWL_NAME_USED_TWICE`, with both places.
   */
  take(
    what: string,
    name: string,
    key: string | undefined,
    here: CodePlace = placeInCode(FRAMES),
  ): string {
    // No name holds NUL.
    const identity = key === undefined ? `${what}\0${name}` : `${what}\0${name}\0${key}`;
    const first = this.#uses.get(identity);
    if (first !== undefined) {
      const second = here === NOT_KEPT ? placeInCode(FRAMES) : here;
      const shown = key === undefined ? `"${name}"` : `"${name}" with key "${key}"`;
      throw new PawlError(
        "PAWL_NAME_USED_TWICE",
        `Expected each ${what} to have a name of its own, but ${shown} is used twice: first ${placeOf(first)}, then ${placeOf(second)}. ` +
          "Give another name, or a key in a loop.",
        { retryable: false },
      );
    }
    this.#uses.set(identity, here);
    return identity;
  }

  /** Gives a name back. */
  giveBack(taken: string): void {
    this.#uses.delete(taken);
  }
}

/** How deep the code of a call may lie below the SDK's own frames. */
const FRAMES = 24;

/** Callers noted of a step of the SDK's own: what may lie between the user's code and where it looks, and that. */
export const STEP_FRAMES = 3;
/** Callers noted of a call of a function: what may lie between the user's code and where it looks, and that. */
export const CALL_FRAMES = 5;
/** The same of a wait of a function. */
export const WAIT_FRAMES = 9;

/**
 * Where a call comes from.
 *
 * @param frames How many callers are noted: each costs time and memory with every call, so whoever is called often looks as soon as it is called.
 * @param above Only callers of this function. Default: of this one.
 */
export function placeInCode(frames: number, above: object = placeInCode): CodePlace {
  const here: CodePlace = {};
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = frames;
  Error.captureStackTrace(here, above as () => void);
  Error.stackTraceLimit = stackTraceLimit;
  return here;
}

/** The line of user code that made the call. */
function placeOf({ stack = "" }: CodePlace): string {
  const lines = stack.split("\n").slice(1);
  const own = lines.find(
    (line) => !/[\\/](sdk|@pawl[\\/]sdk)[\\/](src|dist)[\\/]/.test(line) && !line.includes("node:"),
  );
  return (own ?? lines[0] ?? "at an unknown place").trim();
}

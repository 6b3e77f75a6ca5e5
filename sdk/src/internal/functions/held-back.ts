import { PawlError } from "../../errors.js";
import { never } from "../attempt-state.js";

/** What was done is rolled back, so this is not begun. Never thrown to a function: it goes no further there. */
export class HeldBack extends Error {
  override readonly name = "HeldBack";

  constructor(key: string) {
    super(`Operation "${key}" is not begun, since what its task did is rolled back.`);
  }
}

/** A call that the kernel holds back never goes on. */
export function orNever<T>(call: Promise<T>): Promise<T> {
  return call.catch((error: unknown) => {
    const isRefused = error instanceof PawlError && error.code === "PAWL_ILLEGAL_TRANSITION";
    if (isRefused || error instanceof HeldBack) return never<T>();
    throw error;
  });
}

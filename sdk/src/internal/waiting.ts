import type { PawlError } from "../errors.js";

/** What gives the code of an attempt what it waits for. */
export interface Waiting {
  /** True once the attempt was given back to wait: whatever its code still calls never goes on. */
  readonly isDropped: boolean;
  /** Looks, once the code has done what it can do now, whether it waits. */
  look(): void;
  /** The attempt should stop: whoever waits is told why. */
  abort(reason: PawlError): void;
}

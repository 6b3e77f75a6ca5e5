import type { PawlError } from "./errors.js";

/** How the connection to the kernel is. */
export type ConnectionStatus =
  /** Nothing was asked yet. */
  | { readonly status: "idle" }
  /** The kernel answers. */
  | { readonly status: "connected" }
  /** It does not; the client tries again by itself. */
  | {
      readonly status: "waiting";
      /** What went wrong last. */
      readonly error: PawlError;
      /** Failures since the kernel last answered. */
      readonly failures: number;
    };

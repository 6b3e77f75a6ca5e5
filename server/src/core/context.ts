/** What `decide` may know beyond state and command. All that is not determined by them comes in here. */
export interface DecideContext {
  /** Kernel time, in ms since the Unix epoch. Never less than in an earlier command. */
  readonly nowMs: number;
  /** Who asks, as the connection proved; empty for the unauthenticated local principal and for the kernel itself. */
  readonly principal: string;
  /** A number from 0 (included) to 1; what is drawn is recorded in an event. */
  readonly random: () => number;
  /** SHA-256, for long operation keys and their UUIDs. */
  readonly sha256: (bytes: Uint8Array) => Uint8Array;
}

/** Thrown when an event does not fit the state it is applied to: the log or the kernel's own code is wrong, never a caller. */
export class CorruptHistory extends Error {
  readonly code = "PAWL_INTERNAL";
  constructor(expected: string, actual: string) {
    super(`Expected ${expected}, but ${actual}: the history does not fit the state.`);
    this.name = "CorruptHistory";
  }
}

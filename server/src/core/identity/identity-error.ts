/**
 * A value reached an identity primitive that the edge must have refused before.
 *
 * Ids are checked by `checkId` and numbers by the contract's own bounds where a request comes in. So this error
 * means a defect in the caller, never bad input of a user; building a key or a fingerprint from such a value could
 * give two requests one identity, hence it is thrown rather than mended.
 */
export class IdentityError extends Error {
  override readonly name: string = "IdentityError";
  /** Stable code. */
  readonly code = "PAWL_IDENTITY_INVALID";
  /** The field that does not hold what it must. */
  readonly field: string;

  constructor(field: string, expected: string, actual: string) {
    super(`Expected ${field} to be ${expected}, but it is ${actual}; check it where it comes in.`);
    this.field = field;
  }
}

/** What a refusal tells beside its code and sentence; becomes part of the JSON error body. */
export type ErrorDetails = Readonly<Record<string, string | number>>;

/** Beside the message: the stable code, the HTTP status it is answered with, details, the cause. */
export interface TicketErrorOptions extends ErrorOptions {
  readonly code: `TICKET_${string}`;
  readonly status: number;
  readonly details?: ErrorDetails;
}

/**
 * The one error of the ticket service. Codes start with `TICKET_`: the service plays an outside
 * system, so they are not Pawl's.
 */
export class TicketError extends Error {
  override readonly name: string = "TicketError";
  readonly code: string;
  readonly status: number;
  readonly details: ErrorDetails;

  constructor(message: string, options: TicketErrorOptions) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = options.code;
    this.status = options.status;
    this.details = options.details ?? {};
  }
}

/** A request that breaks a rule of its shape: 400 `TICKET_REQUEST_INVALID`, naming the field. */
export function invalidField(field: string, expected: string, options?: ErrorOptions): TicketError {
  return new TicketError(
    `expected ${field} to be ${expected}, but it is not; correct it and send the call again`,
    { code: "TICKET_REQUEST_INVALID", status: 400, details: { field }, cause: options?.cause },
  );
}

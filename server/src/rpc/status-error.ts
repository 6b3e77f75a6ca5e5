import type { StatusCode } from "./rejection-status.js";

/** An end that the standard services (health) prescribe by its code alone; Pawl's own refusals are RejectionErrors. */
export class StatusError extends Error {
  override readonly name: string = "StatusError";
  readonly code = "PAWL_STATUS";
  readonly status: StatusCode;

  constructor(status: StatusCode, message: string) {
    super(message);
    this.status = status;
  }
}

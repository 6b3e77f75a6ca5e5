import { PawlError } from "./errors.js";

/** The code of the run refused an update, or its schema did. The refusal is recorded: the same id gets it again. */
export class UpdateRefused extends PawlError {
  override readonly name: string = "UpdateRefused";
  /** Id of the update. */
  readonly updateId: string;
  /** Why. */
  readonly reason: string;

  constructor(update: string, updateId: string, reason: string) {
    super("PAWL_UPDATE_REFUSED", `Update "${update}" was refused: ${reason}`, { retryable: false });
    this.updateId = updateId;
    this.reason = reason;
  }
}

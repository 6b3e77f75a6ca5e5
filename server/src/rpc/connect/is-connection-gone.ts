import { Code, ConnectError } from "@connectrpc/connect";

/** What the system says of a write to a connection that either side has closed. Of a file it would be another fault, hence the call's name. */
const codesOfClosed: ReadonlySet<unknown> = new Set(["ECANCELED", "ECONNRESET", "EPIPE"]);

/** As deep as errors name their causes here, so that a chain that bites its tail ends. */
const causesMax = 8;

/**
 * Whether an answer failed for the one reason that is no fault: its connection went away meanwhile. What was still on its way to the system is
 * then told as cancelled (ECANCELED), which Connect takes for an internal error.
 */
export function isConnectionGone(error: unknown): boolean {
  const { code } = ConnectError.from(error);
  if (code === Code.Aborted || code === Code.Canceled) {
    return true;
  }
  let at: unknown = error;
  for (let depth = 0; depth < causesMax && at instanceof Error; depth++) {
    if ("syscall" in at && at.syscall === "write" && "code" in at && codesOfClosed.has(at.code)) {
      return true;
    }
    at = at.cause;
  }
  return false;
}

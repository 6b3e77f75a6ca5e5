import type { Command } from "../core/command.js";
import type { Rejection } from "../core/rejection.js";
import { bytesOfCommand, mayOpenLedger } from "./new-work.js";
import type { Target } from "./outcome.js";

/** Bytes of commands that may wait for their runs to be read; beyond it new work is refused. */
export const parkedBytesMax: number = 64 * 1024 * 1024;

/** What one command keeps in memory beside its contents. */
const ownBytes = 256;

/** Something that waits for a run to be read. */
export interface Parking {
  readonly bytes: number;
  /** True for what may be refused: reports of running work, cancels and decisions never are. */
  readonly isNewWork: boolean;
}

/** Parking of a caller that waits for the end of a run. */
export const parkedWait: Parking = { bytes: ownBytes, isNewWork: true };

/** Counts what waits for runs to be read, so that reading slower than asking costs new work, and not the memory of all. */
export class ParkedCommands {
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Lets something wait; or the refusal. */
  add({ bytes, isNewWork }: Parking): Rejection | undefined {
    if (isNewWork && this.#bytes + bytes > parkedBytesMax) {
      const bound = `${parkedBytesMax} bytes of requests`;
      return {
        reason: "PAWL_OVERLOADED",
        message: `Expected at most ${bound} to wait for runs that are being read, but this would be more. Next: send it again later.`,
        detail: { case: "overloaded", value: { resource: "inbox", bound } },
        retryAfterMs: 500,
      };
    }
    this.#bytes += bytes;
    return undefined;
  }

  /** It waits no more. */
  remove({ bytes }: Parking): void {
    this.#bytes -= bytes;
  }
}

/** How a command counts while its run is read. */
export function parkingOf(target: Target, command: Command): Parking {
  const isNewWork = command.kind === "StartRun" || mayOpenLedger(target, command);
  const hasPlan = command.kind === "StartRun" || command.kind === "RevisePlan";
  const planBytes = hasPlan ? command.plan.bytes.length : 0;
  return { bytes: ownBytes + planBytes + bytesOfCommand(command), isNewWork };
}

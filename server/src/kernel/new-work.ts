import type { Command } from "../core/command.js";
import { isRestart } from "../core/decide/start-run.js";
import type { Run } from "../core/state.js";
import type { Target } from "./outcome.js";

/** True for a command that begins something, so that it may wait while the kernel is behind: what runs already never waits. */
export function isNewWork(target: Target, command: Command, run: Run | undefined): boolean {
  if (command.kind === "StartRun") {
    return run === undefined || isRestart(run, command);
  }
  return run === undefined && mayOpenLedger(target, command);
}

/** True for a command that makes the operation of scope NAMESPACE which it is for, unless there is one. */
export function mayOpenLedger(target: Target, { kind }: Command): boolean {
  return target.kind === "ledger" && (kind === "IntendOperation" || kind === "ProposeAction");
}

/** Content that lies deeper in a command than its own fields. */
function contentWithin(command: Command): Uint8Array | undefined {
  if (command.kind === "StartRun") {
    return command.signal?.payload;
  }
  const isSignal = command.kind === "MakeObligation" && command.order.case === "signal";
  return isSignal ? command.order.payload : undefined;
}

/** Bytes that a command keeps in memory while it waits, without what it shares: plans are shared by all starts of a workflow. */
export function bytesOfCommand(command: Command): number {
  let bytes = contentWithin(command)?.length ?? 0;
  for (const part of Object.values(command)) {
    if (part instanceof Uint8Array || typeof part === "string") {
      bytes += part.length;
    }
  }
  return bytes;
}

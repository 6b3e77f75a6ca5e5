import type { SendSignal, StartRun } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import { encodeUtf8 } from "../identity/utf8.js";
import { limits } from "../limits.js";
import { fingerprintConflict, type Rejection, staleVersion } from "../rejection.js";
import { type Run, type Signal, signalBytes } from "../state.js";
import { isRunOpen } from "../transitions.js";
import { endWait, takers } from "./end-waits.js";
import { runOver } from "./find.js";

/** A signal, however it came. */
type Sent = NonNullable<StartRun["signal"]>;

/**
 * Takes a signal in, and gives it to the task that waits for it longest. Refusals, in order: another signal of this request, run over, stale
 * version, too many in all, too many kept. The same again is answered `existing`.
 */
export function decideSendSignal(run: Run, command: SendSignal, ctx: DecideContext): Decision {
  const recorded = run.signals[run.signalsByRequest.get(command.requestId) ?? -1];
  if (recorded !== undefined) {
    return answerRecorded(recorded, command, ctx);
  }
  if (!isRunOpen(run.status)) {
    return reject(runOver(run, "SendSignal"));
  }
  if (command.expectedVersion !== undefined && command.expectedVersion !== run.version) {
    return reject(staleVersion("run", command.expectedVersion, run.version));
  }
  const subject = { case: "signal", value: { signal: command.name } } as const;
  const [taker] = takers(run, subject);
  const refusal = taker === undefined ? refuseFull(run, command) : refuseMore(run);
  if (refusal !== undefined) {
    return reject(refusal);
  }
  const events = [receivedSignal(command, ctx)];
  if (taker !== undefined) {
    const outcome = { case: "signalTaken", value: { signal: run.signals.length } } as const;
    events.push(endWait(taker, outcome));
  }
  return accept(events);
}

/** The event of a signal that came. */
export function receivedSignal({ name, payload, requestId }: Sent, ctx: DecideContext): EventBody {
  return {
    case: "signalReceived",
    value: { name, payload, requestId, principal: ctx.principal },
  };
}

function answerRecorded(recorded: Signal, command: Sent, ctx: DecideContext): Decision {
  const none = new Uint8Array(0);
  const isSameContent =
    (recorded.payload === undefined) === (command.payload === undefined) &&
    equalBytes(recorded.payload ?? none, command.payload ?? none);
  if (recorded.name === command.name && isSameContent) {
    return acceptExisting();
  }
  const isContent = recorded.name === command.name;
  return reject(
    fingerprintConflict({
      entity: "signal",
      id: command.requestId,
      recorded: ctx.sha256(isContent ? (recorded.payload ?? none) : encodeUtf8(recorded.name)),
      received: ctx.sha256(isContent ? (command.payload ?? none) : encodeUtf8(command.name)),
      differs: isContent ? "payload" : "name",
    }),
  );
}

function refuseMore(run: Run): Rejection | undefined {
  return run.signals.length < limits.signalsMax
    ? undefined
    : {
        reason: "PAWL_TOO_LARGE",
        message: `Expected at most ${limits.signalsMax} signals in a run, but this would be one more. Split the work into several runs.`,
        detail: {
          case: "overloaded",
          value: { resource: "signals", bound: `${limits.signalsMax} signals` },
        },
      };
}

function refuseFull(run: Run, command: Sent): Rejection | undefined {
  const { keptSignalCount, keptSignalBytes } = run;
  const isFull =
    keptSignalCount >= limits.keptSignalsMax ||
    keptSignalBytes + signalBytes(command) > limits.keptSignalBytesMax;
  if (!isFull) {
    return refuseMore(run);
  }
  const bound = `${limits.keptSignalsMax} signals and ${limits.keptSignalBytesMax} bytes`;
  return {
    reason: "PAWL_OVERLOADED",
    message: `Expected room for a signal that nobody waits for yet, but ${keptSignalCount} are kept (${keptSignalBytes} bytes) of at most ${bound}. Send it again once the run has taken some.`,
    detail: { case: "overloaded", value: { resource: "kept signals", bound } },
    retryAfterMs: fullRetryMs,
  };
}

/** When to try again what found no room, in ms. */
const fullRetryMs = 1000;

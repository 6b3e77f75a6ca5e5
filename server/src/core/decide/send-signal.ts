import type { SendSignal, StartRun } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import { encodeUtf8 } from "../identity/utf8.js";
import { limits } from "../limits.js";
import { fingerprintConflict, type Rejection, staleVersion } from "../rejection.js";
import { type Run, type Signal, signalBytes, signalRequest } from "../state.js";
import { isRunOpen } from "../transitions.js";
import { endWait, takers } from "./end-waits.js";
import { runOver } from "./find.js";

/** A signal, however it came. */
type Sent = NonNullable<StartRun["signal"]> & Pick<SendSignal, "from">;

/**
 * Takes a signal in, and gives it to the task that waits for it longest. Refusals, in order: another signal of this request, run over, stale
 * version, too many in all, too many kept. The same again is answered `existing`.
 */
export function decideSendSignal(run: Run, command: SendSignal, ctx: DecideContext): Decision {
  const recorded = findSignal(run, command);
  if (recorded !== undefined) {
    const conflict = refuseOther(recorded, command, ctx);
    return conflict === undefined ? acceptExisting() : reject(conflict);
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

/** The signal beside a start that begins an incarnation: its event, unless this request brought it before; or why it is refused. */
export function signalOfRestart(
  run: Run,
  signal: Sent,
  ctx: DecideContext,
): readonly EventBody[] | Rejection {
  const recorded = findSignal(run, signal);
  if (recorded !== undefined) {
    return refuseOther(recorded, signal, ctx) ?? [];
  }
  return refuseFull(run, signal) ?? [receivedSignal(signal, ctx)];
}

/** The event of a signal that came. */
export function receivedSignal(
  { name, payload, requestId, from }: Sent,
  ctx: DecideContext,
): EventBody {
  const contentDigest = digestOf(payload, ctx);
  return {
    case: "signalReceived",
    value: { name, payload, requestId, principal: ctx.principal, contentDigest, from },
  };
}

function findSignal(run: Run, { requestId, from }: Sent): Signal | undefined {
  return run.signals[run.signalsByRequest.get(signalRequest({ requestId, from })) ?? -1];
}

const noDigest = new Uint8Array(0);

function digestOf(payload: Uint8Array | undefined, { sha256 }: DecideContext): Uint8Array {
  return payload === undefined ? noDigest : sha256(payload);
}

/** Why a request is refused that brought a signal before; undefined when it brings the same again. */
function refuseOther(recorded: Signal, sent: Sent, ctx: DecideContext): Rejection | undefined {
  const { name, contentDigest } = recorded;
  const received = digestOf(sent.payload, ctx);
  if (name !== sent.name) {
    return conflictOf(sent, "name", {
      recorded: ctx.sha256(encodeUtf8(name)),
      received: ctx.sha256(encodeUtf8(sent.name)),
    });
  }
  return equalBytes(contentDigest, received)
    ? undefined
    : conflictOf(sent, "payload", { recorded: contentDigest, received });
}

function conflictOf(
  { requestId }: Sent,
  differs: "name" | "payload",
  digests: { readonly recorded: Uint8Array; readonly received: Uint8Array },
): Rejection {
  return fingerprintConflict({ entity: "signal", id: requestId, ...digests, differs });
}

function refuseMore(run: Run): Rejection | undefined {
  return run.signals.length < limits.signalsMax
    ? undefined
    : {
        reason: "PAWL_TOO_LARGE",
        message: `Expected at most ${limits.signalsMax} signals in a run, but this would be one more. Next: split the work into several runs.`,
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
    message: `Expected room for a signal that nobody waits for yet, but ${keptSignalCount} are kept (${keptSignalBytes} bytes) of at most ${bound}. Next: send it again once the run has taken some.`,
    detail: { case: "overloaded", value: { resource: "kept signals", bound } },
    retryAfterMs: fullRetryMs,
  };
}

/** When to try again what found no room, in ms. */
const fullRetryMs = 1000;

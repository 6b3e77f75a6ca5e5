import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { SendSignal, StartRun } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import { encodeUtf8 } from "../identity/utf8.js";
import { limits } from "../limits.js";
import {
  fingerprintConflict,
  illegalTransition,
  type Rejection,
  staleVersion,
} from "../rejection.js";
import { type Run, type Signal, signalBytes, signalRequest } from "../state.js";
import { isRunOpen } from "../transitions.js";
import { endWait, takers } from "./end-waits.js";
import { runOver } from "./find.js";

/** A signal, however it came. */
type Sent = NonNullable<StartRun["signal"]> & Pick<SendSignal, "from" | "isUpdate">;

/**
 * Takes a signal in, and gives it to the task that waits for it longest; or an update, which is a signal whose sender waits for an answer. Refusals, in order: another
 * signal of this request, run over, an update to a run that is paused or was asked to stop, stale version, too many in all, too many kept. The same again is
 * answered `existing`.
 */
export function decideSendSignal(run: Run, command: SendSignal, ctx: DecideContext): Decision {
  const recorded = findSignal(run, command);
  if (recorded !== undefined) {
    const conflict = refuseOther(recorded, command, ctx);
    return conflict === undefined ? acceptExisting() : reject(conflict);
  }
  if (!isRunOpen(run.status)) {
    return reject(runOver(run, command.isUpdate === true ? "UpdateRun" : "SendSignal"));
  }
  const unfit = command.isUpdate === true ? refuseUpdate(run) : undefined;
  if (unfit !== undefined) {
    return reject(unfit);
  }
  if (command.expectedVersion !== undefined && command.expectedVersion !== run.version) {
    return reject(staleVersion("run", command.expectedVersion, run.version));
  }
  const [taker] = takers(run, subjectOf(command));
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

/** Nobody would answer it for as long as that lasts. */
function refuseUpdate(run: Run): Rejection | undefined {
  const isPaused = run.status === RunStatus.PAUSED;
  if (!isPaused && run.cancelRequestedAtMs === 0) {
    return undefined;
  }
  const status = isPaused ? "PAUSED" : "CANCELLING";
  const legal = isPaused ? ["ResumeRun", "SendSignal"] : [];
  return illegalTransition(
    "PAWL_ILLEGAL_TRANSITION",
    { entity: "run", status, command: "UpdateRun", legal },
    isPaused
      ? `Expected run "${run.runId}" not to be paused, but it is, and takes no updates meanwhile. Next: resume it and send the update again, or send a signal, which is kept.`
      : `Expected run "${run.runId}" to take updates, but it was asked to stop. Nothing was changed. Next: read how it ends, or send the update to another run.`,
  );
}

function subjectOf({ name, isUpdate }: SendSignal): Parameters<typeof takers>[1] {
  return isUpdate === true
    ? { case: "update", value: { update: name } }
    : { case: "signal", value: { signal: name } };
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
  { name, payload, requestId, from, isUpdate = false }: Sent,
  ctx: DecideContext,
): EventBody {
  const { principal } = ctx;
  const contentDigest = digestOf(payload, ctx);
  return {
    case: "signalReceived",
    value: { name, payload, requestId, principal, contentDigest, from, update: isUpdate },
  };
}

function findSignal(run: Run, { requestId, from, isUpdate }: Sent): Signal | undefined {
  const request = signalRequest({ requestId, from, update: isUpdate });
  return run.signals[run.signalsByRequest.get(request) ?? -1];
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
  { requestId, isUpdate }: Sent,
  differs: "name" | "payload",
  digests: { readonly recorded: Uint8Array; readonly received: Uint8Array },
): Rejection {
  const entity = isUpdate === true ? "update" : "signal";
  return fingerprintConflict({ entity, id: requestId, ...digests, differs });
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

import type { Failure } from "@pawl/proto/v1/failure_pb.js";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import { NotSent, Refused } from "../call-errors.js";
import { PawlError } from "../errors.js";
import type { ErasedCall, Lookup, Operation } from "../operation.js";
import type { Secret, SecretRef } from "../secret.js";
import { decodePayload, encodeResult } from "./codec.js";
import { tangible, toFailure } from "./failure.js";
import { noSecrets, type Secrets, secretRefsIn } from "./secrets.js";
import { monotonicMs, startTimer, steeringTime } from "./time.js";
import type { CallTrace } from "./trace-spans.js";
import { validate } from "./validate.js";

/** How one call of a sink ended. */
export type CallOutcome =
  | { readonly case: "result"; readonly payload: Payload }
  | { readonly case: "refused"; readonly failure: Failure }
  | { readonly case: "notSent"; readonly failure: Failure; readonly error: Error }
  | {
      readonly case: "unknown";
      readonly failure: Failure;
      readonly error: unknown;
      /** True when calling again would end the same way. */
      readonly isHopeless: boolean;
    };

/** What the kernel recorded for a call. */
export interface RecordedCall {
  readonly key: string;
  readonly uuid: string;
  readonly target: string;
  readonly payload: Payload | undefined;
  /** When the call must be over, by the monotonic clock. */
  readonly deadlineMs: number;
  /** What carries the trace to the sink. */
  readonly trace: Pick<CallTrace, "traceparent" | "headers" | "run">;
  /** What credentials are looked up by. Absent: nobody knows any. */
  readonly secrets?: Secrets;
}

/**
 * Calls the sink once. The call is aborted at its deadline, and its outcome then unknown whatever it does later; a
 * later outcome is still told, since it settles what nobody knew. When the time is over before the sink was called,
 * while credentials are looked up, it is not called any more: nothing was sent, and nothing is told later.
 *
 * @param onLate Told of an outcome that came after the deadline.
 */
export function callSink(
  operation: Operation,
  recorded: RecordedCall,
  onLate: (outcome: CallOutcome) => void,
): Promise<CallOutcome> {
  return new Promise((resolve) => {
    const abort = new AbortController();
    let isLate = false;
    let isBegun = false;
    const timer = startTimer(recorded.deadlineMs - monotonicMs(), () => {
      isLate = true;
      const message = `Expected the call of "${recorded.key}" to be over within its callTimeout (${operation.callTimeoutMs} ms), but it was not.`;
      const error = new PawlError("PAWL_CALL_TIMED_OUT", message);
      abort.abort(error);
      resolve(isBegun ? unknown(error, false) : notSent(tooLate(recorded.key, error)));
    });
    const call = async (): Promise<unknown> => {
      const made = callOf(recorded, abort.signal);
      const refs = secretRefsIn(made.payload);
      const ready = refs.length === 0 ? made : await withSecrets(made, recorded, refs);
      if (isLate) throw tooLate(recorded.key);
      isBegun = true;
      const returned = await recorded.trace.run(() => operation.call(ready));
      steeringTime()?.acted?.(recorded.key, operation.sink.kind === "idempotent");
      return returned;
    };
    void settle(operation, call).then((outcome) => {
      timer.cancel();
      if (!isLate) {
        resolve(outcome);
      } else if (isBegun) {
        onLate(outcome);
      }
    });
  });
}

/** Asks the sink whether the effect happened. A throw means that it cannot tell. */
export async function lookUpSink(
  operation: Operation,
  recorded: RecordedCall,
): Promise<CallOutcome | "absent"> {
  const lookup = operation.lookup;
  if (lookup === undefined) {
    return unknown(new Error(`Operation "${operation.name}" has no lookup here.`), true);
  }
  const abort = new AbortController();
  const timer = startTimer(recorded.deadlineMs - monotonicMs(), () =>
    abort.abort(
      new PawlError("PAWL_CALL_TIMED_OUT", `The look-up of "${recorded.key}" took too long.`),
    ),
  );
  try {
    const ended = aborted(abort.signal);
    const answer = await Promise.race([
      recorded.trace.run(() => lookup(makeCall(recorded, abort.signal))),
      ended,
    ]);
    if (answer === "absent") return "absent";
    if (!isFound(answer)) {
      return unknown(new Error(`The look-up of "${recorded.key}" could not tell.`), false);
    }
    return await settle(operation, () => answer.found);
  } catch (thrown) {
    return unknown(thrown, false);
  } finally {
    timer.cancel();
  }
}

function isFound(answer: unknown): answer is Extract<Lookup<unknown>, object> {
  return typeof answer === "object" && answer !== null && Object.hasOwn(answer, "found");
}

function aborted(signal: AbortSignal): Promise<never> {
  const promise = new Promise<never>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  promise.catch(() => undefined);
  return promise;
}

function makeCall(recorded: RecordedCall, signal: AbortSignal): ErasedCall {
  const payload = deepFreeze(decodePayload(recorded.payload, "the recorded payload"));
  const { key, uuid, target, trace } = recorded;
  return {
    key,
    uuid,
    target,
    payload,
    signal,
    traceparent: trace.traceparent,
    headers: trace.headers,
    secret: (recorded.secrets ?? noSecrets).under(signal),
  };
}

/** As `makeCall`. A recorded payload that cannot be read here is told as a call that never left: nothing was sent. */
function callOf(recorded: RecordedCall, signal: AbortSignal): ErasedCall {
  try {
    return makeCall(recorded, signal);
  } catch (cause) {
    throw new NotSent(`The recorded payload of "${recorded.key}" cannot be read here.`, { cause });
  }
}

/** Looks up what the payload refers to before anything can leave: a credential that is not known is a call that was not sent. */
async function withSecrets(
  call: ErasedCall,
  { key, secrets = noSecrets }: RecordedCall,
  refs: readonly SecretRef[],
): Promise<ErasedCall> {
  const known = new Map<string, Secret>();
  try {
    for (const ref of refs) known.set(ref.$secretRef, await secrets.resolve(ref, call.signal));
  } catch (cause) {
    const said = cause instanceof Error ? cause.message : "";
    throw new NotSent(`The call of "${key}" was not made: ${said}`, { cause });
  }
  const secret: ErasedCall["secret"] = async (ref) =>
    known.get(ref.$secretRef) ?? (await secrets.resolve(ref, call.signal));
  return { ...call, secret };
}

/** The call's time was over before its credentials were known. */
function tooLate(key: string, cause?: Error): NotSent {
  const message = `The call of "${key}" was not made: its time was over before it could begin.`;
  return new NotSent(message, { cause });
}

/** Runs a call to its end; never rejects. */
async function settle(operation: Operation, run: () => unknown): Promise<CallOutcome> {
  let returned: unknown;
  try {
    returned = await run();
  } catch (anything) {
    const thrown = tangible(anything);
    const { failure } = toFailure(thrown);
    if (thrown instanceof Refused) return { case: "refused", failure: refusal(thrown, failure) };
    if (thrown instanceof NotSent) return notSent(thrown);
    return unknown(thrown, false);
  }
  try {
    const what = `the result of operation "${operation.name}"`;
    const value = await validate(operation.resultSchema, returned, what, false);
    return { case: "result", payload: encodeResult(value, "result") };
  } catch (thrown) {
    // The effect happened, but its result cannot be recorded as it is: that is for a person or a corrected schema.
    return unknown(thrown, true);
  }
}

/** What is recorded of a refusal has the sink's own code, so that it can be thrown again as it was. */
function refusal(thrown: Refused, failure: Failure): Failure {
  failure.code = thrown.sinkCode === "" ? thrown.code : thrown.sinkCode;
  failure.retryable = false;
  return failure;
}

function notSent(error: NotSent): CallOutcome {
  return { case: "notSent", failure: toFailure(error).failure, error };
}

function unknown(error: unknown, isHopeless: boolean): CallOutcome {
  return { case: "unknown", failure: toFailure(error).failure, error, isHopeless };
}

/** Freezes decoded JSON, all the way down. */
function deepFreeze(value: unknown): unknown {
  if (
    typeof value === "object" &&
    value !== null &&
    !ArrayBuffer.isView(value) &&
    !Object.isFrozen(value)
  ) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}

import type { Duration } from "./duration.js";
import { DefinitionInvalid } from "./errors.js";
import { parseDuration } from "./internal/duration-ms.js";
import { checkId } from "./internal/ids.js";
import type { Schema } from "./schema.js";
import type { Secret, SecretRef } from "./secret.js";

/** One call of the sink, as `call` and `lookup` get it. */
export interface OperationCall<Payload> {
  /** The operation key: give it to the sink as idempotency key. Stable over attempts, restarts and retries. At most 255 characters. */
  readonly key: string;
  /** The same identity as a UUID, for sinks that want one. */
  readonly uuid: string;
  /** What is acted on. */
  readonly target: string;
  /** The recorded content, frozen: what must be sent. */
  readonly payload: Readonly<Payload>;
  /**
   * Looks up the credential that a reference names, by the worker's `secrets`. Those of the payload are looked up before the call begins: where one is not known, nothing is sent.
   * Rejects with SecretUnresolved.
   */
  readonly secret: (ref: SecretRef) => Promise<Secret>;
  /** Aborts when the call must be over. Pass it on. */
  readonly signal: AbortSignal;
  /** W3C traceparent for the sink: of this call's span, or, without OpenTelemetry, of who started the run. Empty when there is none. */
  readonly traceparent: string;
  /** Headers that carry the trace to the sink: `traceparent`, and whatever else OpenTelemetry's propagators add. Give them to `fetch`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What a look-up found. */
export type Lookup<Returned> = { readonly found: Returned } | "absent" | "unknown";

/** The sink honours a key within `keyWindow`: a repeated call with the same key has no second effect. */
export interface IdempotentSink<Payload, Returned> {
  /** What the sink can do, and for how long it remembers a key, counted from the first intent. */
  readonly sink: {
    readonly kind: "idempotent";
    readonly keyWindow: Duration;
    readonly settle?: Duration;
  };
  /** Optional: used for nothing while the key window is open. */
  readonly lookup?: (call: OperationCall<Payload>) => Promise<Lookup<Returned>> | Lookup<Returned>;
}

/** The sink can be asked whether the effect of a key happened. */
export interface ReconcilableSink<Payload, Returned> {
  /** What the sink can do. `settle`: how long after its deadline a call sent in time may still take effect. Default 5 s. */
  readonly sink: { readonly kind: "reconcilable"; readonly settle?: Duration };
  /** Asks the sink. A throw means `unknown`. */
  readonly lookup: (call: OperationCall<Payload>) => Promise<Lookup<Returned>> | Lookup<Returned>;
}

/** Neither: an unknown outcome goes to a person. */
export interface OpaqueSink {
  /** What the sink can do. Default opaque, the careful reading. */
  readonly sink?: { readonly kind: "opaque"; readonly settle?: Duration };
  /** An opaque sink cannot be asked. */
  readonly lookup?: undefined;
}

/** What an operation is, besides its name. */
export type OperationSpec<Sent, Payload, Returned, Result> = {
  /** Checks and transforms what `perform` is given. */
  readonly payload: Schema<Sent, Payload>;
  /** Checks and transforms what `call` returns or `lookup` finds. */
  readonly result: Schema<Returned, Result>;
  /** How long one call may take. Default 30 s, at most 1 day. No call is started after it, and a running one is aborted. */
  readonly callTimeout?: Duration;
  /**
   * Performs the effect, once. Uses only `op`. Returns: it happened. Throws `Refused`: the sink said no. Throws
   * `NotSent`: it provably never left. Throws anything else, or takes too long: nobody knows.
   */
  readonly call: (call: OperationCall<Payload>) => Promise<Returned> | Returned;
} & (IdempotentSink<Payload, Returned> | ReconcilableSink<Payload, Returned> | OpaqueSink);

/** A call whose payload's type is forgotten. */
export interface ErasedCall extends Omit<OperationCall<unknown>, "payload"> {
  readonly payload: unknown;
}

/** What a sink can do, in ms. */
export interface SinkSettings {
  readonly kind: "idempotent" | "reconcilable" | "opaque";
  /** 0 unless idempotent. */
  readonly keyWindowMs: number;
  /** Undefined: the kernel's default, 5 s. */
  readonly settleMs: number | undefined;
}

/** A declared external effect. */
export interface Operation<Sent = unknown, Result = unknown> {
  /** Always `operation`. */
  readonly type: "operation";
  /** Name, part of its keys. */
  readonly name: string;
  /** What the sink can do. */
  readonly sink: SinkSettings;
  /** How long one call may take, in ms. */
  readonly callTimeoutMs: number;
  /** Checks payloads. */
  readonly payloadSchema: Schema<unknown, unknown>;
  /** Checks results. */
  readonly resultSchema: Schema<unknown, unknown>;
  /** The call, types erased. */
  readonly call: (call: ErasedCall) => unknown;
  /** The look-up, types erased. */
  readonly lookup: ((call: ErasedCall) => unknown) | undefined;
  /** Types only: no value at run time. */
  readonly types?: { readonly sent: Sent; readonly result: Result };
}

/** Default length of a call, in ms. */
const CALL_TIMEOUT_MS_DEFAULT = 30_000;

/**
 * Declares an external effect. Its sink's kind decides what happens when nobody knows how a call ended: call again with
 * the same key (idempotent), look it up (reconcilable), or ask a person (opaque, the default).
 *
 * @param name Name of the operation, for example `payments.refund`. 1 to 200 bytes; part of every key, so choose it once.
 * @throws DefinitionInvalid
 */
export function operation<Sent, Payload, Returned, Result>(
  name: string,
  spec: OperationSpec<Sent, Payload, Returned, Result>,
): Operation<Sent, Result> {
  checkId(name, "the name of an operation");
  const sink = spec.sink ?? { kind: "opaque" };
  if (sink.kind === "reconcilable" && typeof spec.lookup !== "function") {
    throw new DefinitionInvalid(
      `Expected operation "${name}" to have a lookup, since its sink is reconcilable, but there is none. Add one, or declare the sink opaque.`,
    );
  }
  const callTimeoutMs =
    spec.callTimeout === undefined
      ? CALL_TIMEOUT_MS_DEFAULT
      : parseDuration(spec.callTimeout, "callTimeout");
  if (callTimeoutMs < 1 || callTimeoutMs > 86_400_000) {
    throw new DefinitionInvalid(
      `Expected the callTimeout of operation "${name}" to be 1 ms to 1 day, but it is ${callTimeoutMs} ms. Choose another one.`,
    );
  }
  return {
    type: "operation",
    name,
    sink: {
      kind: sink.kind,
      keyWindowMs: sink.kind === "idempotent" ? parseDuration(sink.keyWindow, "keyWindow") : 0,
      settleMs: sink.settle === undefined ? undefined : parseDuration(sink.settle, "settle"),
    },
    callTimeoutMs,
    payloadSchema: spec.payload,
    resultSchema: spec.result,
    call: eraseCall(spec.call),
    lookup: spec.lookup === undefined ? undefined : eraseCall(spec.lookup),
  };
}

/** The engine gives `call` exactly what the payload's schema gave it, so the type may be forgotten and found again. */
function eraseCall<Payload, Returned>(
  call: (call: OperationCall<Payload>) => Returned,
): (call: ErasedCall) => unknown {
  return (given) => call({ ...given, payload: given.payload as Readonly<Payload> });
}

import { create } from "@bufbuild/protobuf";
import { type Failure, FailureOrigin, FailureSchema } from "@pawl/proto/v1/failure_pb.js";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import { RecordedFailure } from "../errors.js";
import { decodePayload, encodeValue, payloadBytes } from "./codec.js";
import { boundText } from "./text.js";

/** Most failures in a chain, the outermost included. */
const CHAIN_MAX = 8;

/** Bounds of one failure's parts in bytes. Together with seven causes they stay below the kernel's 16 KiB. */
interface PartBounds {
  readonly name: number;
  readonly message: number;
  readonly stack: number;
  readonly data: number;
}

const OUTER: PartBounds = { name: 200, message: 4_096, stack: 4_096, data: 2_048 };
const CAUSE: PartBounds = { name: 100, message: 400, stack: 0, data: 0 };

/** A failure ready to be reported. */
export interface MadeFailure {
  readonly failure: Failure;
  /** Not before this many ms from now. Undefined: the policy's wait. */
  readonly retryAfterMs: number | undefined;
}

/**
 * Makes a bounded failure of anything that was thrown: errors with their chain of causes, and also strings, plain
 * objects and `undefined`. `retryable: false` on the error, as `Fatal` has it, makes it final; `retryAfterMs`, as
 * `RetryAfter` has it, is taken over.
 */
export function toFailure(
  anything: unknown,
  origin: FailureOrigin = FailureOrigin.HANDLER,
): MadeFailure {
  const thrown = tangible(anything);
  const retryAfterMs = readProperty(thrown, "retryAfterMs");
  return {
    failure: makeFailure(thrown, origin, 0),
    retryAfterMs:
      typeof retryAfterMs === "number" && retryAfterMs >= 0 ? Math.ceil(retryAfterMs) : undefined,
  };
}

/** What was thrown; an error in its place when it cannot even be asked what it is, as a revoked proxy cannot. */
export function tangible(thrown: unknown): unknown {
  try {
    void (thrown instanceof Error);
    return thrown;
  } catch (cause) {
    return new Error("Something was thrown that cannot be looked at.", { cause });
  }
}

function makeFailure(thrown: unknown, origin: FailureOrigin, depth: number): Failure {
  const bounds = depth === 0 ? OUTER : CAUSE;
  const failure = create(FailureSchema, {
    kind: boundText(kindOf(thrown), bounds.name),
    code: boundText(readText(thrown, "code"), bounds.name),
    message: boundText(messageOf(thrown), bounds.message),
    stack: bounds.stack === 0 ? "" : boundText(readText(thrown, "stack"), bounds.stack),
    retryable: readProperty(thrown, "retryable") !== false,
    origin,
  });
  const data = bounds.data === 0 ? undefined : dataOf(thrown, bounds.data);
  if (data !== undefined) {
    failure.data = data;
  }
  const cause = readProperty(thrown, "cause");
  if (cause !== undefined && cause !== null && depth + 1 < CHAIN_MAX) {
    failure.cause = makeFailure(cause, origin, depth + 1);
  }
  return failure;
}

/** Class name of an error, the kind of a recorded failure, or what else was thrown. Never empty. */
function kindOf(thrown: unknown): string {
  const kind = readText(thrown, "kind") || readText(thrown, "name");
  if (kind !== "") {
    return kind;
  }
  return thrown === null
    ? "null"
    : `Thrown${typeof thrown === "object" ? "Object" : `(${typeof thrown})`}`;
}

/** What anything that was thrown says. */
export function messageOf(thrown: unknown): string {
  const message = readText(thrown, "message");
  if (message !== "" || thrown instanceof Error) {
    return message;
  }
  try {
    return typeof thrown === "object" ? (JSON.stringify(thrown) ?? String(thrown)) : String(thrown);
  } catch {
    return "Something was thrown that cannot be shown as text.";
  }
}

function dataOf(thrown: unknown, bytesMax: number): Payload | undefined {
  const data = readProperty(thrown, "data");
  try {
    const payload = encodeValue(data, "data");
    return payloadBytes(payload) <= bytesMax ? payload : undefined;
  } catch {
    // Data is a bonus: one that cannot be sent must not hide the failure itself.
    return undefined;
  }
}

function readText(thrown: unknown, name: string): string {
  const value = readProperty(thrown, name);
  return typeof value === "string" ? value : "";
}

/** Reads a property of anything; one whose getter throws counts as absent. */
function readProperty(thrown: unknown, name: string): unknown {
  if (typeof thrown !== "object" || thrown === null) {
    return undefined;
  }
  try {
    return Reflect.get(thrown, name);
  } catch {
    return undefined;
  }
}

/** The recorded failure as an error, with its chain. */
export function fromFailure(failure: Failure): RecordedFailure {
  return new RecordedFailure(failure, {
    data: readData(failure),
    cause: failure.cause === undefined ? undefined : fromFailure(failure.cause),
  });
}

function readData(failure: Failure): unknown {
  try {
    return decodePayload(failure.data, "data");
  } catch {
    return undefined;
  }
}

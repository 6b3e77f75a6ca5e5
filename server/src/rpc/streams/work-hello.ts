import type { HelloShape, WelcomeShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { Caller } from "../../core/caller.js";
import { limits } from "../../core/limits.js";
import type { SessionHello } from "../../kernel/kernel-api.js";
import { defaultNamespace } from "../../kernel/namespaces.js";
import { badField } from "../refusals.js";
import {
  readNamespace,
  requireCount,
  requireId,
  requireNumber,
  requireSessionId,
  requireText,
} from "../validate/fields.js";

/** Version of the worker protocol. */
export const protocolVersion = 1;

/** The kernel pings this often, in ms; a stream that is silent for three times as long is dead. */
export const pingIntervalMs = 5_000;

/** Features of the worker protocol beyond its first version. None yet. */
export const workFeatures: readonly string[] = [];

/** Most leases that a worker may bring along. */
const holdsMax = 100_000;

/**
 * The Hello of a worker, checked.
 *
 * @throws RejectionError PAWL_INVALID_FIELD.
 */
export function readHello(hello: HelloShape, caller: Caller): SessionHello {
  if (hello.protocolVersion !== protocolVersion) {
    throw badField("hello.protocol_version", `${protocolVersion}`, `${hello.protocolVersion}`);
  }
  const namespace = readNamespace(hello.namespace);
  const { sessionId, worker, serves, holds } = hello;
  requireSessionId(sessionId, "hello.session_id");
  requireText(worker, "hello.worker", { min: 0, max: limits.idBytesMax });
  requireNumber(hello.features.length, "hello.features", { min: 0, max: 100 });
  requireServes(serves, "hello.serves");
  requireNumber(holds.length, "hello.holds", { min: 0, max: holdsMax });
  const handles = new Set<number>();
  for (const [index, hold] of holds.entries()) {
    requireId("run_id", hold.runId, `hello.holds[${index}].run_id`);
    requireId("task", hold.task, `hello.holds[${index}].task`);
    if (handles.has(hold.handle) || hold.handle === 0) {
      throw badField(`hello.holds[${index}].handle`, "above 0 and unique", `${hold.handle}`);
    }
    handles.add(hold.handle);
  }
  return { sessionId: ownSession(sessionId, namespace, caller), worker, namespace, serves, holds };
}

/**
 * The id of a session in the kernel. It belongs to whoever opened it: another principal, or another namespace, that names the same
 * one has a session of its own, and can neither take its leases nor end them.
 */
export function ownSession(
  sessionId: string,
  namespace: string,
  { principal, authenticated }: Caller,
): string {
  return authenticated || namespace !== defaultNamespace
    ? `${sessionId} of ${principal} in ${namespace}`
    : sessionId;
}

/** What a worker says it serves. */
interface Served {
  readonly kind: string;
  readonly queue: string;
}

/** Checks what a worker serves. */
export function requireServes(serves: readonly Served[], field: string): void {
  requireCount(serves.length, field, limits.batchItemsMax);
  for (const [index, { kind, queue }] of serves.entries()) {
    requireId("kind", kind, `${field}[${index}].kind`);
    if (queue !== "") {
      requireId("queue", queue, `${field}[${index}].queue`);
    }
  }
}

/** The answer to a Hello. */
export function welcomeOf(hello: HelloShape, lostHandles: readonly number[]): WelcomeShape {
  return {
    features: workFeatures.filter((feature) => hello.features.includes(feature)),
    messageBytesMax: limits.messageBytesMax,
    offerAckMs: limits.offerAckMs,
    pingIntervalMs,
    lostHandles: [...lostHandles],
  };
}

import {
  type Health,
  type HealthCheckRequest,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from "@pawl/proto/grpc/health/v1/health_pb.js";
import type { CallContext } from "../call-scope.js";
import { Channel } from "../channel.js";
import type { Edge } from "../edge.js";
import type { ServiceHandlers } from "../handlers/handler.js";
import { statusCodes } from "../rejection-status.js";
import { StatusError } from "../status-error.js";

/** Health of what is stored, by a name of its own: damage stops neither the others nor the work, but somebody should know. */
const storeHealth = "pawl.store";

/**
 * Handlers of `grpc.health.v1.Health`: SERVING while the kernel takes new work, NOT_SERVING from the moment it drains, has failed or is read-only.
 *
 * @param services names of what is served; the empty name stands for the whole.
 */
export function healthHandlers(
  edge: Edge,
  services: readonly string[],
): ServiceHandlers<typeof Health> {
  const known = new Set(["", storeHealth, ...services]);
  const statusNow = (service: string): ServingStatus =>
    known.has(service) ? servingStatus(edge, service) : ServingStatus.SERVICE_UNKNOWN;
  return {
    check: async ({ service }) => {
      if (!known.has(service)) {
        const message = `Expected a service of this kernel, but "${service}" is none. Ask with an empty name for the whole.`;
        throw new StatusError(statusCodes.NOT_FOUND, message);
      }
      return { status: statusNow(service) };
    },
    list: async () => ({
      statuses: Object.fromEntries(
        [...known].map((service) => [service, { status: servingStatus(edge, service) }]),
      ),
    }),
    watch: (request, call) => watchStatus(edge, request, call, statusNow),
  };
}

function servingStatus(edge: Edge, service: string): ServingStatus {
  const { state, isHeld } = edge.lifecycle;
  const isDamaged = service === storeHealth && edge.kernel.info().scrub.findings.length > 0;
  return state === "serving" && !isHeld && !isDamaged
    ? ServingStatus.SERVING
    : ServingStatus.NOT_SERVING;
}

async function* watchStatus(
  edge: Edge,
  { service }: HealthCheckRequest,
  call: CallContext,
  statusNow: (service: string) => ServingStatus,
): AsyncIterable<{ status: ServingStatus }> {
  const channel = new Channel<{ status: ServingStatus }>(call.signal);
  let told = statusNow(service);
  channel.push({ status: told });
  const stop = edge.lifecycle.onChange(() => {
    const status = statusNow(service);
    if (status !== told) {
      told = status;
      channel.push({ status });
    }
  });
  try {
    yield* channel;
  } finally {
    stop();
  }
}

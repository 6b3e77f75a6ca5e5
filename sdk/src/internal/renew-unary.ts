import type { RenewedLease } from "@pawl/proto/v1/worker_service_pb.js";
import type { PawlClient } from "../client.js";
import type { Lease } from "./lease.js";
import { monotonicMs } from "./time.js";

/** Renews leases by a unary call, while the stream is away. Undefined when the kernel is away too. */
export async function renewUnary(
  api: PawlClient,
  namespace: string,
  leases: readonly Lease[],
  signal: AbortSignal,
): Promise<RenewedLease[] | undefined> {
  const sentAtMs = monotonicMs();
  try {
    const response = await api.workers.renewLeases(
      { namespace, leases: leases.map((lease) => lease.ref) },
      { signal, timeoutMs: 5_000 },
    );
    leases.forEach((lease, place) => {
      if (response.results[place]?.rejection === undefined) lease.renewed(sentAtMs);
    });
    return response.results;
  } catch {
    // The next sweep asks again; a lease that ends meanwhile is told by the kernel when it is back.
    return undefined;
  }
}

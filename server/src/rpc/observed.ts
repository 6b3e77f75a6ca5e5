import type { IncomingMessage } from "node:http";
import type { KernelInfo } from "../kernel/kernel-api.js";
import { RejectionError } from "../kernel/outcome.js";
import { describeError, type Log } from "../observe/log.js";
import type { Metrics } from "../observe/metrics.js";
import { observePages, type Reader, type Standing } from "../observe/pages.js";
import type { GuardedMethod } from "./access/gate.js";
import { requestProof } from "./connect/connect-proof.js";
import type { PageServer } from "./connect/http-front.js";
import type { Edge } from "./edge.js";

/** Tells the log of faults of the kernel's own code. */
export function faultReporter(log: Log): (error: unknown, where: string) => void {
  return (error, where) =>
    log.error({ where, error: describeError(error) }, "A fault of the kernel was contained");
}

/** `/metrics`, `/healthz` and `/readyz`, and the pages of whoever runs the server behind them. */
export function pagesOf(edge: Edge, metrics: Metrics, others: PageServer | undefined): PageServer {
  const own = observePages(
    metrics,
    () => standingOf(edge),
    (request) => readerOf(edge, request),
  );
  return (request, response) => own(request, response) || (others?.(request, response) ?? false);
}

/** Numbers are for whoever has proved to be someone, once that is asked for, names for who may know of their namespace. */
function readerOf({ gate }: Edge, request: IncomingMessage): Reader | undefined {
  try {
    const credential = gate.identify(metricsGuard, requestProof(request));
    return (namespace) => gate.isVisible(credential, namespace);
  } catch (error) {
    if (error instanceof RejectionError) {
      return undefined;
    }
    throw error;
  }
}

const metricsGuard: GuardedMethod = { name: "/metrics", row: { scope: "any", roles: [] } };

function standingOf({ kernel, lifecycle }: Edge): Standing {
  switch (lifecycle.state) {
    case "failed":
      return { failure: "the store has failed: start the kernel afresh", notReady: undefined };
    case "draining":
      return { failure: undefined, notReady: "it is going away" };
    case "serving":
      return { failure: undefined, notReady: reasonToWait(kernel.info()) };
  }
}

function reasonToWait({ readOnlyReason, isOpenWorkKnown }: KernelInfo): string | undefined {
  if (readOnlyReason !== "") {
    return readOnlyReason;
  }
  return isOpenWorkKnown ? undefined : "it has just started and still reads what is open";
}

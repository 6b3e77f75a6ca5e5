import type { IncomingMessage, ServerResponse } from "node:http";
import type { Metrics } from "./metrics.js";

/** Where a kernel stands, for whoever decides on restarts and traffic. */
export interface Standing {
  /** Why the process must be started afresh; undefined while it lives. */
  readonly failure: string | undefined;
  /** Why new work should go elsewhere or wait; undefined when it is welcome. */
  readonly notReady: string | undefined;
}

/** Whether whoever asks may know of a namespace; undefined: who asks has not proved to be anyone, and gets no metrics. */
export type Reader = (namespace: string) => boolean;

/**
 * Answers `GET /metrics`, `/healthz` and `/readyz`. True when the request was one of them.
 *
 * `/healthz` is 200 as long as the store works: a kernel that starts, drains or has a full disk is healthy. `/readyz` is 200 while new
 * work is taken and all that is open is known.
 */
export function observePages(
  metrics: Metrics,
  stand: () => Standing,
  readerOf: (request: IncomingMessage) => Reader | undefined,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    if (!paths.has(path)) {
      return false;
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      answer(response, 405, "Expected GET or HEAD here.\n");
    } else if (path === "/metrics") {
      answerMetrics(metrics, readerOf(request), response);
    } else {
      answerStanding(stand(), path === "/readyz", response);
    }
    return true;
  };
}

const noToken =
  "Expected a token, but there is none that counts. Send it as Authorization: Bearer.\n";

const paths: ReadonlySet<string> = new Set(["/metrics", "/healthz", "/readyz"]);

function answerStanding(
  { failure, notReady }: Standing,
  isReadiness: boolean,
  response: ServerResponse,
): void {
  const why = failure ?? (isReadiness ? notReady : undefined);
  answer(response, why === undefined ? 200 : 503, `${why ?? "ok"}\n`);
}

function answerMetrics(
  metrics: Metrics,
  reader: Reader | undefined,
  response: ServerResponse,
): void {
  if (reader === undefined) {
    answer(response, 401, noToken);
    return;
  }
  metrics.text(reader).then(
    (text) => answer(response, 200, text, metrics.contentType),
    (error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      answer(response, 500, `Expected to read the metrics, but it failed: ${why}\n`);
    },
  );
}

function answer(
  response: ServerResponse,
  status: number,
  text: string,
  contentType = "text/plain; charset=utf-8",
): void {
  response.writeHead(status, { "content-type": contentType, "cache-control": "no-store" });
  response.end(text);
}

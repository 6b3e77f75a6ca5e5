import { context, propagation } from "@opentelemetry/api";

/** W3C traceparent of the active span; empty when nothing is traced. */
export function currentTraceparent(): string {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  return carrier["traceparent"] ?? "";
}

/** Runs code in the trace that a traceparent names, so that its spans belong to whoever started the run. */
export function inTrace<T>(traceparent: string, run: () => T): T {
  return traceparent === ""
    ? run()
    : context.with(propagation.extract(context.active(), { traceparent }), run);
}

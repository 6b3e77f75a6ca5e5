import {
  type Attributes,
  type Context,
  context,
  type Link,
  ProxyTracerProvider,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";

type AttributeName =
  | "namespace"
  | "run"
  | "incarnation"
  | "workflow"
  | "task"
  | "attempt"
  | "leaseVersion"
  | "step"
  | "stepKey"
  | "operation"
  | "operationKey"
  | "operationOutcome"
  | "proposal";

/** Names of what spans say of runs and effects. */
export const attribute: Readonly<Record<AttributeName, string>> = {
  namespace: "pawl.namespace",
  run: "pawl.run.id",
  incarnation: "pawl.run.incarnation",
  workflow: "pawl.workflow",
  task: "pawl.task.name",
  attempt: "pawl.task.attempt",
  leaseVersion: "pawl.lease.version",
  step: "pawl.step.name",
  stepKey: "pawl.step.key",
  operation: "pawl.operation.name",
  operationKey: "pawl.operation.key",
  operationOutcome: "pawl.operation.outcome",
  proposal: "pawl.proposal.id",
};

/** What `getDelegate` gives while nobody has set OpenTelemetry up. */
const noProvider = new ProxyTracerProvider().getDelegate();

/** False while nobody has set OpenTelemetry up: then no span is made and nothing is allocated for one. */
export function isTraced(): boolean {
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegate() !== noProvider;
}

/** W3C traceparent of a context; empty when nothing is traced in it. */
export function traceparentOf(of: Context): string {
  return headersOf(of)["traceparent"] ?? "";
}

/** W3C traceparent of the active span; empty when nothing is traced. */
export function currentTraceparent(): string {
  return traceparentOf(context.active());
}

/** What carries a context to another process, as the propagators that are set up write it. */
export function headersOf(of: Context): Readonly<Record<string, string>> {
  const carrier: Record<string, string> = {};
  propagation.inject(of, carrier);
  return carrier;
}

/** The context that a traceparent names: its spans belong to whoever started the run. */
export function contextOf(traceparent: string): Context {
  return traceparent === "" ? context.active() : propagation.extract(ROOT_CONTEXT, { traceparent });
}

/** A link to the span that a traceparent names; none when it names none. */
export function linksTo(traceparent: string): Link[] {
  const linked = traceparent === "" ? undefined : trace.getSpanContext(contextOf(traceparent));
  return linked === undefined ? [] : [{ context: linked }];
}

/** What a span begins with. */
export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  /** Default: the active context. */
  readonly parent?: Context;
  readonly links?: Link[];
}

/** A span that has begun, and the context in which its work is done. */
export interface OpenSpan {
  readonly span: Span;
  readonly context: Context;
  /** Ends it. Of an error only the kind is told: messages may hold content. */
  end(error?: unknown): void;
}

/** Begins a span. Only called when `isTraced()`. */
export function beginSpan(start: SpanStart): OpenSpan {
  const { name, kind, attributes, parent = context.active(), links = [] } = start;
  const span = trace.getTracer("@pawl/sdk").startSpan(name, { kind, attributes, links }, parent);
  return {
    span,
    context: trace.setSpan(parent, span),
    end: (error) => {
      if (error !== undefined) {
        span.setAttribute("error.type", errorType(error));
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
}

/** Runs work inside a span, which ends with it. Without OpenTelemetry it just runs. */
export async function inSpan<T>(start: () => SpanStart, run: () => Promise<T> | T): Promise<T> {
  if (!isTraced()) {
    return await run();
  }
  const opened = beginSpan(start());
  try {
    const value = await context.with(opened.context, run);
    opened.end();
    return value;
  } catch (thrown) {
    opened.end(thrown);
    throw thrown;
  }
}

/** Notes on the active span that something recorded was used again. */
export function noteReuse(name: string, attributes: Attributes): void {
  trace.getActiveSpan()?.addEvent(name, attributes);
}

function errorType(error: unknown): string {
  if (typeof error !== "object" || error === null) {
    return typeof error;
  }
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" ? code : error instanceof Error ? error.name : "Object";
}

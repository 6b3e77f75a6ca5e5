import { type Attributes, context, SpanKind } from "@opentelemetry/api";
import type { Offer } from "@pawl/proto/v1/worker_service_pb.js";
import {
  attribute,
  beginSpan,
  contextOf,
  currentTraceparent,
  headersOf,
  inSpan,
  isTraced,
  linksTo,
  type OpenSpan,
  traceparentOf,
} from "./trace.js";

/** Where an effect comes from: who started its run, and which attempt performs it. */
export interface Origin {
  /** W3C traceparent of who started the run; empty when there is none. */
  readonly traceparent: string;
  readonly attributes: Attributes;
}

/** What is performed without a run comes from whoever performs it. */
export const ownOrigin: Origin = { traceparent: "", attributes: {} };

/** What carries the trace of one call to its sink. */
export interface CallTrace {
  readonly traceparent: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Runs the call where its spans belong. */
  run<T>(call: () => T): T;
  /** Says how it ended. */
  end(outcome: string, error?: unknown): void;
}

/** The span of a start; undefined when nothing is traced. */
export function startSpan(workflow: string, runId: string, given: string): OpenSpan | undefined {
  return isTraced()
    ? beginSpan({
        name: "pawl.start",
        kind: SpanKind.PRODUCER,
        attributes: { [attribute.workflow]: workflow, [attribute.run]: runId },
        parent: contextOf(given),
      })
    : undefined;
}

/** The attempt that an offer begins. */
export function originOf(offer: Offer): Origin {
  return {
    traceparent: offer.traceparent,
    attributes: {
      [attribute.run]: offer.runId,
      [attribute.incarnation]: offer.incarnation,
      [attribute.workflow]: offer.workflow,
      [attribute.task]: offer.task,
      [attribute.attempt]: offer.attempt,
      [attribute.leaseVersion]: offer.leaseVersion,
    },
  };
}

/** Runs a handler in the trace of who started its run. */
export function inAttemptSpan<T>(offer: Offer, run: () => Promise<T> | T): Promise<T> {
  const parent = contextOf(offer.traceparent);
  return isTraced()
    ? inSpan(
        () => ({
          name: "pawl.attempt",
          kind: SpanKind.CONSUMER,
          attributes: originOf(offer).attributes,
          parent,
        }),
        run,
      )
    : Promise.resolve(context.with(parent, run));
}

/** Runs a step that is made for the first time. */
export function inStepSpan<T>(
  step: { readonly name: string; readonly key: string | undefined },
  run: () => Promise<T>,
): Promise<T> {
  return inSpan(() => {
    const key = step.key === undefined ? {} : { [attribute.stepKey]: step.key };
    const attributes = { [attribute.step]: step.name, ...key };
    return { name: "pawl.step", kind: SpanKind.INTERNAL, attributes };
  }, run);
}

/** A call or look-up of a sink. Its span links to the start of the run, so that one leads from an effect to its cause. */
export function traceCall(
  name: "pawl.call" | "pawl.look_up",
  call: { readonly operation: string; readonly key: string; readonly proposalId?: string },
  origin: Origin,
): CallTrace {
  if (!isTraced()) {
    const traceparent = origin.traceparent === "" ? currentTraceparent() : origin.traceparent;
    const headers = traceparent === "" ? {} : { traceparent };
    return { traceparent, headers, run: (made) => made(), end: () => {} };
  }
  const opened = beginSpan({
    name,
    kind: SpanKind.CLIENT,
    attributes: {
      ...origin.attributes,
      [attribute.operation]: call.operation,
      [attribute.operationKey]: call.key,
      ...((call.proposalId ?? "") === "" ? {} : { [attribute.proposal]: call.proposalId }),
    },
    links: linksTo(origin.traceparent),
  });
  return {
    traceparent: traceparentOf(opened.context),
    headers: headersOf(opened.context),
    run: (made) => context.with(opened.context, made),
    end: (outcome, error) => {
      opened.span.setAttribute(attribute.operationOutcome, outcome);
      opened.end(error);
    },
  };
}

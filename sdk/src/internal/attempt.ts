import type { Failure } from "@pawl/proto/v1/failure_pb.js";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import type {
  Offer,
  RecordedName,
  StepRecord,
  WaitOutcome,
} from "@pawl/proto/v1/worker_service_pb.js";
import { Cancelled, Draining } from "../abort-reasons.js";
import { Later } from "../retry-errors.js";
import type { ServedTask } from "../task.js";
import { RecordMismatch } from "../workflow-errors.js";
import type { AttemptContextOptions } from "./attempt-context-options.js";
import type { AttemptPort } from "./attempt-port.js";
import type { AttemptState } from "./attempt-state.js";
import { decodePayload, encodeValue } from "./codec.js";
import { Execution, type Rest } from "./execution.js";
import { tangible, toFailure } from "./failure.js";
import { ContinuingContext } from "./functions/continuing-context.js";
import { FittedContext } from "./functions/fitted-context.js";
import { FunctionContext } from "./functions/function-context.js";
import { rollBack } from "./functions/roll-back.js";
import type { WarmCopy } from "./functions/warm-copies.js";
import type { Lease } from "./lease.js";
import { inFunction } from "./loose-rejections.js";
import { MessageContext } from "./message-context.js";
import { openCallsError } from "./open-calls.js";
import type { Ledger } from "./perform.js";
import { boundText } from "./text.js";
import { inAttemptSpan } from "./trace-spans.js";
import { unrecorded } from "./unsaid-failures.js";
import { validate } from "./validate.js";
import { type Suspension, seenBefore } from "./waits.js";

/** What is recorded and was not reached, in words; absent: nothing. */
interface Reached {
  readonly unvisited?: readonly string[];
}

/** What to tell the kernel at the end of an attempt. */
export type AttemptEnd =
  | ({ readonly case: "output"; readonly output: Payload } & Reached)
  | ({ readonly case: "noOutput" } & Reached)
  | {
      readonly case: "failure";
      readonly failure: Failure;
      readonly retryAfterMs: number | undefined;
      /** True when a person must say what to do: no attempt would go better. */
      readonly forReview?: boolean;
    }
  | { readonly case: "cancelled"; readonly failure: Failure }
  /** Given back, without using an attempt. */
  | { readonly case: "release"; readonly reason: string; readonly delayMs?: number }
  /** Given back until something is there. */
  | ({ readonly case: "suspend"; readonly copy: WarmCopy | undefined } & Suspension)
  /** Nothing: the attempt is over already. */
  | { readonly case: "nothing" };

/** What an attempt is run with. */
export interface AttemptOptions {
  readonly offer: Offer;
  readonly served: ServedTask;
  readonly lease: Lease;
  readonly state: AttemptState;
  readonly port: AttemptPort;
  readonly ledger: Ledger;
  /** The code, when it waits in memory for this offer: it goes on where it stands. */
  readonly copy: WarmCopy | undefined;
  /** Brings in content that is stored apart. */
  readonly load: (payload: Payload | undefined) => Promise<Payload | undefined>;
  /** Reads the records after this event number. */
  readonly readRecords: (afterNumber: number) => Promise<Records>;
}

/** Recorded steps, and the outcomes of waits. */
export interface Records {
  readonly steps: StepRecord[];
  readonly outcomes: WaitOutcome[];
  /** What is recorded besides; only when all records are read. */
  readonly recorded: RecordedName[];
}

/** Runs one attempt from its offer to what is told of its end. Never rejects. */
export async function runAttempt(options: AttemptOptions): Promise<AttemptEnd> {
  const { state, offer, served } = options;
  let end: AttemptEnd;
  try {
    const isFunction = served.isFunction === true;
    end = await (isFunction ? inFunction(offer, () => execute(options)) : execute(options));
  } catch (thrown) {
    end = failed(unrecorded(tangible(thrown)), state);
  }
  // Whatever fails next is not what the code went on after.
  if (end.case !== "suspend") options.lease.onSend = undefined;
  state.returned();
  if (state.isOver) {
    return { case: "nothing" };
  }
  return state.poison === undefined ? end : failed(state.poison, state);
}

async function execute(options: AttemptOptions): Promise<AttemptEnd> {
  const { offer, state, copy } = options;
  const isCold = offer.warm && copy === undefined;
  if (isCold || needsLoading(offer)) {
    await bringIn(offer, options, isCold);
  }
  if (offer.rollingBack !== undefined) {
    const { rollingBack } = offer;
    return await inAttemptSpan(offer, () => rollBack(options, rollingBack));
  }
  const { ctx, execution, rest } = copy === undefined ? await begin(options) : goOn(copy, options);
  const ended = await rest.finally(() => {
    if (ctx instanceof FunctionContext && !execution.isSuspended) ctx.close();
  });
  if (ctx instanceof FittedContext) {
    await ctx.callsAnswered();
    ctx.assertFits();
  }
  if ("waits" in ended) {
    const left = ctx instanceof FunctionContext ? { ctx, execution } : undefined;
    return { case: "suspend", copy: left, ...ended };
  }
  if ("continued" in ended) {
    return { case: "nothing" }; // The kernel knows.
  }
  state.returned();
  return await toEnd(ended.returned, ctx, options);
}

/** What a return comes to: refused while something that the code asked for is open, else its output. */
async function toEnd(
  returned: unknown,
  ctx: MessageContext,
  { offer, served, state }: AttemptOptions,
): Promise<AttemptEnd> {
  const calls = ctx instanceof FunctionContext ? ctx.forgotten : state.openCalls;
  const open = [...calls, ...ctx.unanswered];
  if (open.length > 0) {
    throw openCallsError(offer.task, open, "return");
  }
  const what = `the output of task "${offer.task}"`;
  const output =
    served.outputSchema === undefined
      ? returned
      : await validate(served.outputSchema, returned, what, true);
  const payload = encodeValue(output, "output");
  const unvisited =
    ctx instanceof FittedContext && served.allowsUnvisited !== true ? ctx.unvisited : [];
  return payload === undefined
    ? { case: "noOutput", unvisited }
    : { case: "output", output: payload, unvisited };
}

/** How to undo what was done is on its way before anything is told of the end. */
async function declared(running: unknown, ctx: FunctionContext): Promise<unknown> {
  try {
    return await running;
  } finally {
    await ctx.rollbacks.declared();
  }
}

/** Code at work. */
interface AtWork {
  readonly ctx: MessageContext;
  readonly execution: Execution;
  readonly rest: Promise<Rest>;
}

/** Runs the code from its top. */
async function begin(options: AttemptOptions): Promise<AtWork> {
  const { offer, served, state } = options;
  state.seenThrough = seenBefore(offer.outcomes, offer.seenThrough);
  const execution = new Execution();
  const parts = partsOf(options, execution);
  const ctx = served.isFunction === true ? new ContinuingContext(parts) : new MessageContext(parts);
  const sent = decodePayload(offer.input, "the input");
  const input =
    served.inputSchema === undefined
      ? sent
      : await validate(served.inputSchema, sent, `the input of task "${offer.task}"`, false);
  const code = (): unknown => served.handler(ctx, input);
  const run = ctx instanceof FunctionContext ? (): unknown => declared(code(), ctx) : code;
  const rest = inAttemptSpan(offer, () => execution.begin(offer, run));
  return { ctx, execution, rest };
}

/** Lets code that waits in memory go on. */
function goOn({ ctx, execution }: WarmCopy, options: AttemptOptions): AtWork {
  const parts = partsOf(options, execution);
  const rest = inAttemptSpan(options.offer, () => execution.resume(() => ctx.wakeUp(parts)));
  return { ctx, execution, rest };
}

function partsOf(options: AttemptOptions, execution: Execution): AttemptContextOptions {
  const { offer, lease, state, port, ledger, load, served } = options;
  const { inputSchema, allowsUnvisited = false } = served;
  const onSuspend = (suspension: Suspension): void => {
    // Failures of steps, before the code counts as asleep.
    lease.onSend?.();
    execution.suspend(suspension);
  };
  const onContinued = (): void => execution.continued();
  const told = { onSuspend, onContinued };
  return { offer, lease, state, port, ledger, load, inputSchema, allowsUnvisited, ...told };
}

/** Most bytes of the reason for which a task is given back. */
const REASON_BYTES = 1_000;

/** How an attempt that threw is reported: by why it was asked to stop, when it stopped for that. */
function failed(thrown: unknown, state: AttemptState): AttemptEnd {
  if (thrown instanceof Later) {
    return {
      case: "release",
      reason: boundText(thrown.message, REASON_BYTES),
      delayMs: thrown.delayMs,
    };
  }
  const { failure, retryAfterMs } = toFailure(thrown);
  if (thrown instanceof RecordMismatch) {
    return { case: "failure", failure, retryAfterMs: undefined, forReview: true };
  }
  const { reason } = state;
  const stopped = reason !== undefined && (thrown === reason || isAbort(thrown));
  if (stopped && reason instanceof Draining) {
    return { case: "release", reason: "The worker is going away." };
  }
  if (stopped && reason instanceof Cancelled) {
    return { case: "cancelled", failure };
  }
  return stopped
    ? { case: "failure", failure: toFailure(reason).failure, retryAfterMs: undefined }
    : { case: "failure", failure, retryAfterMs };
}

function isAbort(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === "AbortError";
}

function needsLoading(offer: Offer): boolean {
  return (
    offer.moreSteps ||
    offer.input?.body.case === "blob" ||
    offer.lastProgress?.body.case === "blob" ||
    offer.dependencies.some((dependency) => dependency.output?.body.case === "blob") ||
    offer.steps.some((step) => step.value?.body.case === "blob") ||
    offer.outcomes.some((outcome) => contentOf(outcome)?.body.case === "blob")
  );
}

/** @param isCold Whether the offer was for code that is not in memory any more: its records are read from the first on. */
async function bringIn(
  offer: Offer,
  { load, readRecords }: AttemptOptions,
  isCold: boolean,
): Promise<void> {
  if (isCold) {
    Object.assign(offer, await readRecords(0));
  } else if (offer.moreSteps) {
    const last = Math.max(offer.steps.at(-1)?.number ?? 0, offer.outcomes.at(-1)?.number ?? 0);
    const more = await readRecords(last);
    offer.steps.push(...more.steps);
    offer.outcomes.push(...more.outcomes);
  }
  const input = await load(offer.input);
  if (input !== undefined) offer.input = input;
  const lastProgress = await load(offer.lastProgress);
  if (lastProgress !== undefined) offer.lastProgress = lastProgress;
  for (const dependency of offer.dependencies) {
    const output = await load(dependency.output);
    if (output !== undefined) dependency.output = output;
  }
  await bringInRecords(offer, load);
}

/** One look for each is enough, and no promise: there may be tens of thousands, and hardly any is stored apart. */
async function bringInRecords(
  { steps, outcomes }: Records,
  load: AttemptOptions["load"],
): Promise<void> {
  for (const step of steps) {
    if (step.value?.body.case !== "blob") continue;
    const value = await load(step.value);
    if (value !== undefined) step.value = value;
  }
  for (const outcome of outcomes) {
    if (contentOf(outcome)?.body.case === "blob") await bringInOutcome(outcome, load);
  }
}

/** Content of an outcome: a signal's or an update's, or an answer. */
function contentOf({ outcome }: WaitOutcome): Payload | undefined {
  if (outcome.case === "signal" || outcome.case === "update") return outcome.value.payload;
  const { answer } =
    outcome.case === "input" ? outcome.value : { answer: { case: undefined } as const };
  return answer.case === "given" ? answer.value : undefined;
}

async function bringInOutcome(
  { outcome }: WaitOutcome,
  load: AttemptOptions["load"],
): Promise<void> {
  if (outcome.case === "signal" || outcome.case === "update") {
    const payload = await load(outcome.value.payload);
    if (payload !== undefined) outcome.value.payload = payload;
  } else if (outcome.case === "input" && outcome.value.answer.case === "given") {
    const given = await load(outcome.value.answer.value);
    if (given !== undefined) outcome.value.answer = { case: "given", value: given };
  }
}

import { create } from "@bufbuild/protobuf";
import { type Failure, FailureOrigin, FailureSchema } from "@pawl/proto/v1/failure_pb.js";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import {
  type StepRecord,
  TaskWaitSchema,
  type UpdateOutcome,
  UpdateWaitSchema,
  type WaitOutcome,
} from "@pawl/proto/v1/worker_service_pb.js";
import type { Duration } from "../duration.js";
import { PawlError, SchemaRefused } from "../errors.js";
import type { Update, UpdateReceived, UpdateTimedOut } from "../updates.js";
import { decodePayload, encodeValue } from "./codec.js";
import { parseDuration } from "./duration-ms.js";
import { bounded } from "./functions/scopes.js";
import { otherKind } from "./sleep.js";
import { boundText } from "./text.js";
import { fromValid, validate } from "./validate.js";
import type { WaitCall } from "./waits.js";

/** Name of the steps that answer updates; their key is the update's number. */
export const ANSWER_STEP = "$answer";

/** Kind of the failure by which the schema of an update refuses it. */
const SCHEMA_REFUSED = "SchemaRefused";

/** Longest reason of a refusal, in bytes. */
const REASON_BYTES = 1_000;

/** The answer to an update, on its way. */
export interface UpdateAnswerStep {
  /** Number of the update in the run. */
  readonly update: number;
  readonly name: string;
  /** What it is answered with. */
  readonly make: () => Promise<{ readonly value: Payload } | { readonly failure: Failure }>;
}

/** What receiving an update needs of the context. */
export interface ReceivingPort {
  /** Waits for one. */
  readonly waitFor: (
    make: () => WaitCall,
    read: (outcome: WaitOutcome) => Promise<Received>,
  ) => Promise<Received>;
  /** What is recorded as the answer to an update; undefined when nothing is. */
  readonly findAnswer: (update: number) => StepRecord | undefined;
  /** Records the answer. */
  readonly answer: (step: UpdateAnswerStep) => Promise<void>;
  /** Told of each update that the code is given: it must answer it. */
  readonly given: (update: number, name: string) => void;
}

/** An update as it came, with what its schema makes of it. */
type Received =
  | { readonly outcome: UpdateOutcome; readonly value: unknown }
  | { readonly outcome: UpdateOutcome; readonly refused: Failure }
  | undefined;

/** How an update is waited for. */
interface Options {
  readonly key?: string;
  readonly timeout?: Duration;
}

/** Waits for an update that its schema admits; those that it refuses are refused to their senders. */
export async function receiveUpdate(
  update: Update,
  options: Options,
  port: ReceivingPort,
): Promise<UpdateReceived<unknown, unknown> | UpdateTimedOut> {
  const { name } = update;
  for (let turn = 1; ; turn++) {
    const key = turn === 1 ? options.key : bounded(`${options.key ?? ""}~${turn}`);
    const received = await port.waitFor(
      () => updateCall(name, key, options.timeout),
      (outcome) => read(outcome, update, port),
    );
    if (received === undefined) {
      return { status: "timed-out" };
    }
    const { number } = received.outcome;
    if (!("refused" in received)) {
      port.given(number, name);
      return new TakenUpdate(update, received.outcome, received.value, port);
    }
    const { refused } = received;
    await port.answer({ update: number, name, make: async () => ({ failure: refused }) });
  }
}

function updateCall(name: string, key: string | undefined, timeout?: Duration): WaitCall {
  const timeoutMs =
    timeout === undefined ? undefined : parseDuration(timeout, `the timeout of update "${name}"`);
  return {
    name,
    key,
    isNamed: true,
    describe: (elapsedMs) => {
      const wait = create(UpdateWaitSchema, { update: name });
      if (timeoutMs !== undefined) wait.timeoutMs = Math.max(0, timeoutMs - elapsedMs);
      const described = create(TaskWaitSchema, { name, subject: { case: "update", value: wait } });
      if (key !== undefined) described.key = key;
      return described;
    },
  };
}

/** What an outcome is to the code. What was recorded first counts: an update that was accepted is not refused when the code runs again. */
async function read(
  { name, outcome }: WaitOutcome,
  { inputSchema }: Update,
  port: ReceivingPort,
): Promise<Received> {
  if (outcome.case === "timedOut") {
    return undefined;
  }
  if (outcome.case !== "update") throw otherKind(name, "an update", outcome.case);
  const { value: taken } = outcome;
  const recorded = port.findAnswer(taken.number);
  if (recorded?.failure?.kind === SCHEMA_REFUSED) {
    return { outcome: taken, refused: recorded.failure };
  }
  const what = `update "${name}"`;
  const decoded = decodePayload(taken.payload, what);
  if (inputSchema === undefined) {
    return { outcome: taken, value: decoded };
  }
  try {
    return { outcome: taken, value: await validate(inputSchema, decoded, what, false) };
  } catch (thrown) {
    if (recorded !== undefined || !(thrown instanceof SchemaRefused)) throw thrown;
    return { outcome: taken, refused: refusal(SCHEMA_REFUSED, thrown.message) };
  }
}

function refusal(kind: string, reason: string): Failure {
  return create(FailureSchema, {
    kind,
    code: "PAWL_UPDATE_REFUSED",
    message: boundText(reason, REASON_BYTES),
    origin: FailureOrigin.HANDLER,
  });
}

/** An update in the hands of the code. */
class TakenUpdate implements UpdateReceived<unknown, unknown> {
  readonly status = "received";
  readonly value: unknown;
  readonly updateId: string;
  readonly from: string;
  readonly #update: Update;
  readonly #number: number;
  readonly #port: ReceivingPort;
  #isAnswered = false;

  constructor(update: Update, outcome: UpdateOutcome, value: unknown, port: ReceivingPort) {
    this.value = value;
    this.updateId = outcome.updateId;
    this.from = outcome.principal;
    this.#update = update;
    this.#number = outcome.number;
    this.#port = port;
  }

  accept(result?: unknown): Promise<void> {
    const { name, resultSchema } = this.#update;
    const what = `the result of update "${name}"`;
    return this.#answer(async () => {
      const encode = (valid: unknown): Payload | undefined => encodeValue(valid ?? null, what);
      const checked =
        resultSchema === undefined ? result : validate(resultSchema, result, what, true);
      const value = await fromValid(checked, encode);
      return value === undefined ? { failure: refusal(what, what) } : { value };
    });
  }

  refuse(reason: string): Promise<void> {
    return this.#answer(async () => ({ failure: refusal("UpdateRefused", reason) }));
  }

  async #answer(make: UpdateAnswerStep["make"]): Promise<void> {
    const { name } = this.#update;
    if (this.#isAnswered) {
      const message = `Expected one answer to update "${this.updateId}" ("${name}"), but it was answered before. The first one counts.`;
      throw new PawlError("PAWL_UPDATE_ANSWERED", message, { retryable: false });
    }
    this.#isAnswered = true;
    try {
      await this.#port.answer({ update: this.#number, name, make });
    } catch (thrown) {
      this.#isAnswered = false;
      throw thrown;
    }
  }
}

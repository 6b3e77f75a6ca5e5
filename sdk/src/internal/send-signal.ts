import { create } from "@bufbuild/protobuf";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import { SubmitSignalSchema } from "@pawl/proto/v1/run_service_pb.js";
import { AccessDenied } from "../errors.js";
import type { SignalAnswer } from "../messages.js";
import type { ClientCore } from "./client-core.js";
import { payloadBytes } from "./codec.js";
import type { SubmitStream } from "./submit-stream.js";
import { callUnary } from "./unary.js";

/** Contents up to this length, in bytes, travel with other items; a longer one has a call of its own. */
const SHARED_BYTES_MAX = 32_768;

/** Room that the names of a signal take in a message at most, in bytes. */
const NAMES_BYTES = 700;

/** A signal, checked. */
export interface SignalToSend {
  readonly runId: string;
  readonly name: string;
  readonly requestId: string;
  readonly payload: Payload | undefined;
  readonly expectedVersion: number | undefined;
}

/** Clients that may send signals but submit nothing, such as those of operators. */
const notSubmitting = new WeakSet<SubmitStream>();

/**
 * Sends a signal: on the stream of starts and results, which costs a fraction of a call; else, when it is long or its sender may not submit,
 * by a call of its own.
 */
export async function sendSignal(
  core: ClientCore,
  submit: SubmitStream,
  signal: SignalToSend,
): Promise<SignalAnswer> {
  const bytes = payloadBytes(signal.payload);
  if (bytes > SHARED_BYTES_MAX || notSubmitting.has(submit)) {
    return callSendSignal(core, signal);
  }
  try {
    return await submit.signal(create(SubmitSignalSchema, partsOf(signal)), bytes + NAMES_BYTES);
  } catch (error) {
    if (!(error instanceof AccessDenied)) throw error;
    const answer = await callSendSignal(core, signal);
    notSubmitting.add(submit);
    return answer;
  }
}

/** What SubmitSignal and SendSignalRequest have in common. */
interface SignalParts {
  readonly runId: string;
  readonly name: string;
  readonly requestId: string;
  readonly payload?: Payload;
  readonly expectedVersion?: number;
}

function partsOf({ runId, name, requestId, payload, expectedVersion }: SignalToSend): SignalParts {
  return {
    runId,
    name,
    requestId,
    ...(payload === undefined ? {} : { payload }),
    ...(expectedVersion === undefined ? {} : { expectedVersion }),
  };
}

function callSendSignal(core: ClientCore, signal: SignalToSend): Promise<SignalAnswer> {
  const { api, namespace } = core;
  const request = { namespace, ...partsOf(signal) };
  return callUnary((call) => api.runs.sendSignal(request, call), core.unary());
}

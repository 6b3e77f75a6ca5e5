import { create } from "@bufbuild/protobuf";
import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import {
  type ObligationAnswer,
  type ObligationItem,
  ObligationItemSchema,
  ObligationWaitSchema,
  SendCancelOrderSchema,
  SendSignalOrderSchema,
  TaskWaitSchema,
  type WaitOutcome,
} from "@pawl/proto/v1/worker_service_pb.js";
import { PawlError } from "../errors.js";
import type { RunAskedToStop, RunSignalled } from "../other-runs.js";
import type { AttemptState } from "./attempt-state.js";
import { encodeValue } from "./codec.js";
import { checkId } from "./ids.js";
import type { Lease } from "./lease.js";
import { attemptEnd, errorFromRejection, isAttemptOver } from "./rejection.js";
import { otherKind } from "./sleep.js";
import type { WaitCall } from "./waits.js";
import type { ItemAnswer } from "./work-item.js";

/** Name of the waits for answers of other runs; their key is the number of the obligation. */
const WAIT_NAME = "obligation";

/** What is told another run, as the code asked for it. */
export interface Telling {
  readonly runId: string;
  readonly name: string;
  readonly key: string | undefined;
}

/** A signal for another run. */
export function signalItem({ runId, name, key }: Telling, payload: unknown): ObligationItem {
  const value = create(SendSignalOrderSchema, { signal: name });
  const encoded = encodeValue(payload, `signal "${name}"`);
  if (encoded !== undefined) value.payload = encoded;
  return itemOf({ runId, name, key }, { case: "signal", value });
}

/** A request that another run stop. Its name is that of the run: there is no other. */
export function cancelItem(telling: Telling, reason: string): ObligationItem {
  const value = create(SendCancelOrderSchema, { reason });
  return itemOf(telling, { case: "cancel", value });
}

function itemOf({ runId, name, key }: Telling, order: ObligationItem["order"]): ObligationItem {
  checkId(runId, "the id of the other run");
  checkId(name, "the name of a signal");
  if (key !== undefined) checkId(key, "the key");
  const item = create(ObligationItemSchema, { runId, name, order });
  if (key !== undefined) item.key = key;
  return item;
}

/** The answer to such an item. @throws the end of the attempt, or the refusal as an error. */
export function readAnswer(
  { rejection, obligation }: ItemAnswer,
  { lease, state }: { readonly lease: Lease; readonly state: AttemptState },
): ObligationAnswer {
  if (rejection !== undefined) {
    if (!isAttemptOver(rejection)) throw errorFromRejection(rejection);
    const ended = attemptEnd(rejection);
    lease.isOver = true;
    state.end(ended);
    throw ended;
  }
  if (obligation === undefined) {
    throw new PawlError(
      "PAWL_UNKNOWN_ANSWER",
      "Expected an answer to what was sent to another run, but it is empty. Is the kernel newer than this SDK?",
    );
  }
  return obligation;
}

/** A wait for the answer of another run. */
export function answerCall(obligation: number, what: string): WaitCall {
  const key = `${obligation}`;
  const wait = create(TaskWaitSchema, {
    name: WAIT_NAME,
    key,
    subject: { case: "obligation", value: create(ObligationWaitSchema, { obligation }) },
  });
  return { name: WAIT_NAME, key, what, describe: () => wait };
}

/** The outcome of such a wait. */
export function readStatus({ name, outcome }: WaitOutcome): ObligationStatus {
  if (outcome.case !== "obligation") throw otherKind(name, "an answer", outcome.case);
  return outcome.value.status;
}

/** What became of a signal. */
export function signalledAs(status: ObligationStatus): RunSignalled {
  return status === ObligationStatus.FULL ? { status: "full" } : askedAs(status);
}

/** What became of a request to stop. */
export function askedAs(status: ObligationStatus): RunAskedToStop {
  switch (status) {
    case ObligationStatus.DELIVERED:
      return { status: "delivered" };
    case ObligationStatus.RUN_OVER:
      return { status: "run-over" };
    case ObligationStatus.NOT_FOUND:
      return { status: "not-found" };
    default:
      throw new PawlError(
        "PAWL_UNKNOWN_ANSWER",
        `Expected an answer of another run that this SDK knows, but it is ${status}. Is the kernel newer than this SDK?`,
      );
  }
}

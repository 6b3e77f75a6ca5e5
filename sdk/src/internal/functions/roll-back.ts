import type { RollingBack, StepRecord } from "@pawl/proto/v1/worker_service_pb.js";
import { OperationAbandoned, Refused } from "../../call-errors.js";
import { PawlError } from "../../errors.js";
import type { Operation } from "../../operation.js";
import type { AttemptEnd, AttemptOptions } from "../attempt.js";
import { decodePayload } from "../codec.js";
import { defer } from "../deferred.js";
import { requestOf } from "../operation-request.js";
import { Performance } from "../perform.js";
import { asError, wait } from "../time.js";
import { originOf } from "../trace-spans.js";
import { validate } from "../validate.js";
import { UndoingContext } from "./undoing-context.js";

/** Code that did something of its own on its way to a rollback is waited for as long as this, in ms. */
const PATIENCE_MS = 5_000;
/** How often it is looked at meanwhile, in ms. */
const LOOK_MS = 50;

/**
 * Rolls back what a function did: its code runs over its records and begins nothing, which settles what is in doubt and tells what the operations are; then what it recorded is
 * undone, the latest first.
 */
export async function rollBack(
  options: AttemptOptions,
  rollingBack: RollingBack,
): Promise<AttemptEnd> {
  const { offer } = options;
  const recorded = offer.steps.filter(({ rollback }) => rollback !== undefined).toReversed();
  const operations = await findOperations(options, rollingBack, recorded);
  const refused: string[] = [];
  for (const step of recorded) {
    const name = step.rollback?.operation ?? "";
    const operation = operations.get(name);
    if (operation === undefined) throw unknownOperation(name, rollingBack.task);
    try {
      await undo(options, operation, step);
    } catch (error) {
      if (error instanceof Refused) refused.push(`"${name}" (${error.message})`);
      else if (!(error instanceof OperationAbandoned)) throw error;
    }
  }
  if (refused.length > 0) {
    const message = `Expected what task "${rollingBack.task}" did to be undone, but the sink refused ${refused.join(", ")}. Everything else was undone. Undo it by hand, then resolve the review.`;
    throw new PawlError("PAWL_ROLLBACK_REFUSED", message, { retryable: false });
  }
  return { case: "noOutput" };
}

async function undo(
  { offer, ledger, load }: AttemptOptions,
  operation: Operation,
  { rollback, value }: StepRecord,
): Promise<void> {
  const request = requestOf(operation, {
    scope: "task",
    key: rollback?.key,
    target: rollback?.target ?? "",
    payload: await load(value),
  });
  request.rollback = true;
  await new Performance(ledger, operation, request, originOf(offer)).run();
}

/** The operations that the code names when it runs over what is recorded. */
async function findOperations(
  options: AttemptOptions,
  { task }: RollingBack,
  recorded: readonly StepRecord[],
): Promise<ReadonlyMap<string, Operation>> {
  const { offer, served, state } = options;
  if (served.isFunction !== true) {
    return new Map();
  }
  const idle = defer<void>();
  const ignore = (): void => undefined;
  const parts = {
    ...{ ...options, offer: { ...offer, task }, inputSchema: served.inputSchema },
    ...{ onSuspend: ignore, onContinued: ignore, allowsUnvisited: true },
  };
  const ctx = new UndoingContext(parts, { onIdle: () => idle.resolve() });
  const sent = decodePayload(offer.input, "the input");
  const input =
    served.inputSchema === undefined
      ? sent
      : await validate(served.inputSchema, sent, `the input of task "${task}"`, false);
  const look = (): void => state.waits?.look();
  (async () => served.handler(ctx, input))().then(look, look);
  look();
  const stopped = new Promise<never>((_resolve, reject) => {
    const stop = (): void => reject(asError(state.reason));
    if (state.signal.aborted) stop();
    else state.signal.addEventListener("abort", stop, { once: true });
  });
  await Promise.race([idle.promise, stopped]);
  const { operations } = ctx.rollbacks;
  const isMissing = ({ rollback }: StepRecord): boolean =>
    !operations.has(rollback?.operation ?? "");
  for (let left = PATIENCE_MS; left > 0 && recorded.some(isMissing); left -= LOOK_MS) {
    await wait(LOOK_MS, state.signal);
  }
  ctx.close();
  if (ctx.doubt !== undefined) throw ctx.doubt;
  return operations;
}

function unknownOperation(name: string, task: string): PawlError {
  const message = `Expected the code of task "${task}" to say again what rollback operation "${name}" is, as it did when it recorded it, but it did not get there. Serve code that calls ctx.onRollback with it, then resolve the review; or undo it by hand.`;
  return new PawlError("PAWL_ROLLBACK_UNKNOWN", message, { retryable: false });
}

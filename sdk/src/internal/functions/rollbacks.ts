import { create } from "@bufbuild/protobuf";
import type { OperationRequest } from "@pawl/proto/v1/operation_pb.js";
import { RollbackSchema } from "@pawl/proto/v1/rollback_pb.js";
import type { TaskWait } from "@pawl/proto/v1/worker_service_pb.js";
import { DefinitionInvalid, PawlError } from "../../errors.js";
import type { Operation } from "../../operation.js";
import type { RollbackOptions } from "../../workflow-context.js";
import { buildOperationRequest, requireOptions } from "../operation-request.js";
import { quiet } from "../quiet.js";
import type { Steps } from "../steps.js";
import { asError } from "../time.js";
import { scopedName } from "./scopes.js";

/** That an execution only finds out how to undo what was done: it begins nothing. */
export interface Undoing {
  /** Told when the code has been given everything and does nothing any more, with all that it waits for then. */
  readonly onIdle: (waits: TaskWait[]) => void;
  /** Set when nothing is undone, and the code is only compared with its records: told, in words, of what is not recorded. */
  readonly onFresh?: (what: string) => void;
}

/** One rollback as the code declares it. */
export interface RollbackCall {
  readonly operation: Operation;
  readonly payload: unknown;
  readonly options: RollbackOptions;
}

/** What a function has said about how to undo what it did. */
export class Rollbacks {
  readonly #fail: (error: PawlError) => void;
  readonly #operations = new Map<string, Operation>();
  #declaring: Promise<void> | undefined;

  /** @param fail Told what is wrong with a rollback: the attempt cannot go on. */
  constructor(fail: (error: PawlError) => void) {
    this.#fail = fail;
  }

  /** Operations that undo something, by name. */
  get operations(): ReadonlyMap<string, Operation> {
    return this.#operations;
  }

  /** Remembers what an operation is. */
  note(operation: Operation): void {
    this.#operations.set(operation.name, operation);
  }

  /** The code says again how to undo what it did, and nothing is to be recorded. */
  pass({ operation, options }: RollbackCall, steps: Steps): void {
    steps.pass(stepNameOf(operation), options?.key); // Absent options are refused elsewhere.
  }

  /** Records a rollback, one after the other. What is wrong with it fails the attempt. */
  async declare(call: RollbackCall, steps: Steps): Promise<void> {
    const before = this.#declaring;
    const making = quiet(requestFor(call));
    const declaring = (async () => {
      await before;
      await record(call, await making, steps);
    })();
    this.#declaring = declaring.catch((error: unknown) => {
      const failure = asError(error);
      this.#fail(
        failure instanceof PawlError
          ? failure
          : new DefinitionInvalid(
              `Expected rollback "${call.operation.name}" to be recorded, but ${failure.message}. Give what its operation takes.`,
            ),
      );
    });
    await this.#declaring;
  }

  /** Resolves when everything that was declared is on its way: what follows stays behind it. */
  async declared(): Promise<void> {
    await this.#declaring;
  }
}

async function requestFor({
  operation,
  payload,
  options,
}: RollbackCall): Promise<OperationRequest> {
  requireOptions(operation, options);
  return await buildOperationRequest(operation, payload, options);
}

async function record(
  { operation }: RollbackCall,
  request: OperationRequest,
  steps: Steps,
): Promise<void> {
  const rollback = create(RollbackSchema, { operation: operation.name, target: request.target });
  if (request.key !== undefined) rollback.key = request.key;
  await steps.recordRollback({
    name: stepNameOf(operation),
    key: request.key,
    value: request.payload,
    rollback,
  });
}

/** Name of the step that holds how to undo something by this operation. */
function stepNameOf({ name }: Operation): string {
  return scopedName("$rollback", name);
}

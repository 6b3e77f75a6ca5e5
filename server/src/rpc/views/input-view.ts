import type { MessageInitShape } from "@bufbuild/protobuf";
import type { InputRequestSchema } from "@pawl/proto/v1/input_pb.js";
import { nameOfTask } from "../../core/plan/tasks-of-run.js";
import { notFound } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import { RejectionError } from "../../kernel/outcome.js";
import { requireText } from "../validate/fields.js";
import { payloadOf, timestampView } from "./payload-view.js";

/**
 * Id of an input request: the number of its run in the store, its own number in the run, and, from the second on, the incarnation of the
 * run, since numbers begin anew with each: an answer to one incarnation never reaches another.
 */
export function inputId(runNumber: number, input: number, incarnation: number): string {
  return `${runNumber}-${input}${incarnation === 1 ? "" : `-${incarnation}`}`;
}

/** The numbers in an id of an input request. */
export interface InputNumbers {
  readonly runNumber: number;
  readonly input: number;
  readonly incarnation: number;
}

/**
 * Reads an id of an input request.
 *
 * @throws RejectionError PAWL_INVALID_FIELD when it is empty or overlong, PAWL_INPUT_NOT_FOUND when no request can have it.
 */
export function parseInputId(id: string): InputNumbers {
  requireText(id, "input_id", { min: 1, max: 200 });
  const parts = /^([0-9]{1,15})-([0-9]{1,9})(?:-([1-9][0-9]{0,8}))?$/.exec(id);
  if (parts === null || parts[3] === "1") {
    throw new RejectionError(notFound("input", id));
  }
  const [, run, input, incarnation = "1"] = parts;
  return { runNumber: Number(run), input: Number(input), incarnation: Number(incarnation) };
}

/** `pawl.v1.InputRequest` of a request's state; undefined when the run has no such request. Lists leave answers out. */
export function inputView(
  run: Run,
  number: number,
  { runNumber, withAnswer }: { readonly runNumber: number; readonly withAnswer: boolean },
): MessageInitShape<typeof InputRequestSchema> | undefined {
  const input = run.inputs[number];
  const wait = input === undefined ? undefined : run.waits[input.wait];
  const subject = wait?.declaration.subject;
  if (input === undefined || wait === undefined || subject?.case !== "input") {
    return undefined;
  }
  const { name, key, dueAtMs } = wait.declaration;
  const { question, addressee, schema } = subject.value;
  const askedAt = timestampView(wait.openedAtMs);
  const expiresAt = timestampView(dueAtMs);
  const closedAt = timestampView(input.closedAtMs);
  return {
    inputId: inputId(runNumber, number, run.incarnation),
    namespace: run.namespace,
    runId: run.runId,
    task: nameOfTask(run, wait.task),
    name,
    question,
    addressee,
    schema,
    status: input.status,
    version: input.version,
    answeredBy: input.principal,
    ...(key === undefined ? {} : { key }),
    ...(askedAt === undefined ? {} : { askedAt }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(closedAt === undefined ? {} : { closedAt }),
    ...(withAnswer && input.answer !== undefined ? { answer: payloadOf(input.answer) } : {}),
    ...(input.declined === undefined ? {} : { declined: input.declined }),
  };
}

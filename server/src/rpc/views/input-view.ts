import type { MessageInitShape } from "@bufbuild/protobuf";
import type { InputRequestSchema } from "@pawl/proto/v1/input_pb.js";
import { nameOfTask } from "../../core/plan/tasks-of-run.js";
import type { Run } from "../../core/state.js";
import { partId } from "./part-id.js";
import { payloadOf, timestampView } from "./payload-view.js";

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
    inputId: partId(runNumber, number, run.incarnation),
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

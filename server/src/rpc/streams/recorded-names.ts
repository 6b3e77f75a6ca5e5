import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { RecordKind } from "@pawl/proto/v1/worker_service_pb.js";
import type { RecordedNameShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { Run } from "../../core/state.js";
import { type DeclaredByTask, declaredBy } from "./declared-by-task.js";

/** Bytes of names in an offer, at least roughly: with all of them it could be larger than a message. */
const recordedBytesMax = 524_288;

/** What is recorded of a task besides its steps and the outcomes of its waits, in the order of the records of each kind; as much as fits. */
export function recordedNames(run: Run, task: number): RecordedNameShape[] {
  const names: RecordedNameShape[] = [];
  let bytes = 0;
  for (const name of all(run, task)) {
    bytes += 16 + 3 * (name.name.length + (name.key?.length ?? 0)); // At most so many in UTF-8.
    if (bytes > recordedBytesMax) {
      break;
    }
    names.push(name);
  }
  return names;
}

function* all(run: Run, task: number): Iterable<RecordedNameShape> {
  const declared = declaredBy(run, task);
  yield* effects(run, declared);
  yield* obligations(run, declared);
  for (const number of run.tasks[task]?.openWaits ?? []) {
    const declaration = run.waits[number]?.declaration;
    if (declaration !== undefined) {
      yield named(RecordKind.WAIT, declaration);
    }
  }
}

function* effects(
  run: Run,
  { operations, proposals }: DeclaredByTask,
): Iterable<RecordedNameShape> {
  for (const number of operations) {
    const operation = run.operations[number];
    yield* effect(RecordKind.OPERATION, operation?.carried ? undefined : operation?.declaration);
  }
  for (const number of proposals) {
    const proposal = run.proposals[number];
    const isPresent = proposal?.dropped === 0 && !isOfCarried(run, proposal);
    yield* effect(RecordKind.APPROVAL, isPresent ? proposal.declaration : undefined);
  }
}

/** True for the proposal of an operation that no code of the present generation has asked for: it belongs to it. */
function isOfCarried(
  { operations }: Run,
  { operation }: Pick<Run["proposals"][number], "operation">,
): boolean {
  return operation !== undefined && operations[operation]?.carried === true;
}

function* effect(
  kind: RecordKind,
  declaration: (Run["operations"] | Run["proposals"])[number]["declaration"] | undefined,
): Iterable<RecordedNameShape> {
  if (declaration !== undefined) {
    const { name, discriminator: key, scope } = declaration;
    yield { kind, name, key, scope };
  }
}

function* obligations(run: Run, declared: DeclaredByTask): Iterable<RecordedNameShape> {
  for (const number of declared.obligations) {
    const { declaration, carried = false } = run.obligations[number] ?? {};
    if (declaration !== undefined && !carried) {
      const isChild = declaration.order.case === "child";
      yield named(isChild ? RecordKind.CHILD : RecordKind.ORDER, declaration);
    }
  }
}

function named(
  kind: RecordKind,
  { name, key }: { readonly name: string; readonly key?: string | undefined },
): RecordedNameShape {
  return { kind, name, key, scope: OperationScope.UNSPECIFIED };
}

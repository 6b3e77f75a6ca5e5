import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { RecordKind } from "@pawl/proto/v1/worker_service_pb.js";
import type { RecordedNameShape } from "@pawl/proto/v1/worker_service_wire.js";
import { isKernels, type Run } from "../../core/state.js";

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
  yield* effects(run, task);
  yield* obligations(run, task);
  for (const number of run.tasks[task]?.openWaits ?? []) {
    const declaration = run.waits[number]?.declaration;
    if (declaration !== undefined) {
      yield named(RecordKind.WAIT, declaration);
    }
  }
}

function* effects(run: Run, task: number): Iterable<RecordedNameShape> {
  for (const { declaration } of run.operations) {
    if (declaration.task === task) {
      const { name, discriminator: key, scope } = declaration;
      yield { kind: RecordKind.OPERATION, name, key, scope };
    }
  }
  for (const { declaration, number } of run.proposals) {
    if (declaration.task === task && number >= run.proposalBase) {
      const { name, discriminator: key, scope } = declaration;
      yield { kind: RecordKind.APPROVAL, name, key, scope };
    }
  }
}

function* obligations(run: Run, task: number): Iterable<RecordedNameShape> {
  for (const { declaration, earlier } of run.obligations) {
    if (declaration.task === task && !earlier && !isKernels(declaration)) {
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

import {
  inputRequestKey,
  obligationKey,
  operationKey,
  operationKeyKey,
  planVersionKey,
  proposalKey,
  reviewKey,
  signalKey,
  stepKey,
  taskKey,
  waitKey,
} from "../../log/key.js";
import { sha256 } from "../../log/sha256.js";
import type { Resident, StoredParts, StoredState } from "../resident.js";
import type { KeyMaker } from "./key-maker.js";

/** Under which kind of key the rows of each sort of part lie. */
const kindOfPart: Readonly<Record<keyof StoredParts, number>> = {
  tasks: taskKey.kind,
  operations: operationKey.kind,
  reviews: reviewKey.kind,
  waits: waitKey.kind,
  proposals: proposalKey.kind,
  signals: signalKey.kind,
  inputs: inputRequestKey.kind,
  obligations: obligationKey.kind,
  steps: stepKey.kind,
  planVersions: planVersionKey.kind,
};

/** True when the rows are those of an earlier incarnation or generation: the run has begun once more since, or went on from an earlier point, and all its parts may be others. */
function isOfEarlier({ run, stored }: Resident): boolean {
  const wentBackAt = run.rewinds.at(-1)?.event ?? 0;
  const isOther = stored.incarnation !== run.incarnation || stored.event < wentBackAt;
  return stored.event !== 0 && isOther;
}

/** What is stored of the present incarnation: of its parts nothing, while the rows are those of an earlier one. */
export function storedOfPresent(resident: Resident): StoredState {
  const { stored } = resident;
  return isOfEarlier(resident)
    ? { ...stored, parts: undefined, operationKeys: noKeys, proposalKeys: 0, bytes: 0 }
    : stored;
}

/** No operation keys: shared by all runs without operations. */
export const noKeys: readonly string[] = [];

/**
 * Keys of rows that stand for parts of an earlier incarnation: they go in the batch that writes the present one. Those that it writes again
 * may be among them, since deletes come before puts.
 */
export function* rowsOfEarlier(
  { keys, partition }: { readonly keys: KeyMaker; readonly partition: number },
  resident: Resident,
): Generator<Uint8Array, void, undefined> {
  if (!isOfEarlier(resident)) {
    return;
  }
  const { run, number: runNumber, stored } = resident;
  for (const [part, kind] of Object.entries(kindOfPart) as [keyof StoredParts, number][]) {
    const stamps = stored.parts?.[part] ?? 0;
    const count = typeof stamps === "number" ? stamps : stamps.length;
    for (let number = 0; number < count; number++) {
      yield keys.inRun(kind, runNumber, number);
    }
  }
  for (const key of [...stored.operationKeys, ...keysOfDropped(resident)]) {
    const keyHash = sha256(Buffer.from(key, "utf8"));
    yield operationKeyKey.encode({ partition, namespace: run.namespace, keyHash });
  }
}

/** Keys under which only proposals were found, all of which a rewind dropped. */
function keysOfDropped({ run, stored }: Resident): string[] {
  return run.proposals
    .slice(0, stored.proposalKeys)
    .map(({ declaration }) => declaration.key)
    .filter((key) => !run.proposalsByKey.has(key));
}

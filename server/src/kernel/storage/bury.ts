import type { Run } from "../../core/state.js";
import { operationKeyKey } from "../../log/key.js";
import { sha256 } from "../../log/sha256.js";
import type { Resident } from "../resident.js";
import type { KeyMaker } from "./key-maker.js";

/**
 * Keys of the rows by which a deleted aggregate was found: its name, and the keys of its operations and proposals. They go in the batch that stores
 * its tombstone. What was never stored may be among them.
 */
export function* namesOfDeleted(
  { keys, partition }: { readonly keys: KeyMaker; readonly partition: number },
  { run, stored }: Resident,
): Generator<Uint8Array, void, undefined> {
  if (stored.event === 0) {
    return;
  }
  if (run.kind === "run") {
    yield keys.name(run.namespace, run.runId);
  }
  for (const operationKey of operationKeysOfAll(run)) {
    const keyHash = sha256(Buffer.from(operationKey, "utf8"));
    yield operationKeyKey.encode({ partition, namespace: run.namespace, keyHash });
  }
}

/** Keys of operations of earlier incarnations are gone since those began. */
function operationKeysOfAll(run: Run): ReadonlySet<string> {
  return new Set([...run.operationsByKey.keys(), ...run.proposalsByKey.keys()]);
}

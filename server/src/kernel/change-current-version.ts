import type { Caller } from "../core/caller.js";
import { limits } from "../core/limits.js";
import { invalidField, type Rejection, staleVersion } from "../core/rejection.js";
import type { CurrentVersionEntry, CurrentVersions } from "./current-versions.js";
import type { DurableAnswers } from "./durable-answers.js";
import type { KernelParts } from "./kernel-parts.js";
import { RejectionError } from "./outcome.js";

/** How the current version of a workflow is to be changed. */
export interface VersionChange {
  readonly namespace: string;
  readonly workflow: string;
  /** 0: it is removed. */
  readonly codeVersion: number;
  /** The version that the entry must have; 0: none was ever set. Undefined: any. */
  readonly expectedVersion: number | undefined;
}

/** See `KernelApi.changeCurrentVersion`. */
export async function changeCurrentVersion(
  parts: Pick<KernelParts, "loop" | "versions" | "sessions" | "storeRun">,
  answers: DurableAnswers,
  change: VersionChange,
  caller: Caller,
): Promise<{ existing: boolean; entry: CurrentVersionEntry; position: Uint8Array }> {
  answers.requireWorking();
  const { loop, versions, sessions } = parts;
  const { namespace, workflow, codeVersion } = change;
  const before = versions.get(namespace, workflow) ?? neverSet(namespace, workflow);
  const refusal = loop.held ?? judge(before, change) ?? refuseMore(versions, before, change);
  if (refusal !== undefined) {
    throw new RejectionError(refusal);
  }
  const existing = before.codeVersion === codeVersion;
  let entry = before;
  if (!existing) {
    const { principal } = caller;
    const value = { namespace, workflow, codeVersion, version: before.version + 1, principal };
    const body = { case: "currentVersionChanged", value } as const;
    entry = { ...value, changedAtMs: loop.appendEvents(parts.storeRun, [body]) };
    versions.put(entry);
    // In the same turn: what is taken from here on is recorded after it.
    sessions.serveAnew(namespace, workflow);
  }
  return { existing, entry, position: await answers.positionWhenDurable() };
}

/** What is known of a workflow for which none was ever set. */
export function neverSet(namespace: string, workflow: string): CurrentVersionEntry {
  return { namespace, workflow, codeVersion: 0, version: 0, principal: "", changedAtMs: 0 };
}

/** A change that is there already, just made from the expected version, is one that was sent again. */
function judge(
  { version, codeVersion }: CurrentVersionEntry,
  change: VersionChange,
): Rejection | undefined {
  const { expectedVersion = version } = change;
  const isResent = version === expectedVersion + 1 && codeVersion === change.codeVersion;
  return expectedVersion === version || isResent
    ? undefined
    : staleVersion(`current version of workflow "${change.workflow}"`, expectedVersion, version);
}

function refuseMore(
  { size }: CurrentVersions,
  { version }: CurrentVersionEntry,
  { codeVersion }: VersionChange,
): Rejection | undefined {
  const { versionedWorkflowsMax } = limits;
  return version > 0 || codeVersion === 0 || size < versionedWorkflowsMax
    ? undefined
    : invalidField(
        "workflow",
        `one of at most ${versionedWorkflowsMax} with a current version`,
        "one more",
      );
}

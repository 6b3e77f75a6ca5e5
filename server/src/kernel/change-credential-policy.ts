import type { CredentialMode } from "@pawl/proto/v1/credential_policy_pb.js";
import type { Caller } from "../core/caller.js";
import { type Rejection, staleVersion } from "../core/rejection.js";
import type { CredentialPolicyEntry } from "./credential-policies.js";
import type { DurableAnswers } from "./durable-answers.js";
import type { KernelParts } from "./kernel-parts.js";
import { RejectionError } from "./outcome.js";

/** How a namespace is to deal with credentials in content. */
export interface CredentialPolicyChange {
  readonly namespace: string;
  readonly mode: CredentialMode;
  /** The version that the policy must have; 0: never changed. Undefined: any. */
  readonly expectedVersion: number | undefined;
}

/** See `KernelApi.changeCredentialPolicy`. */
export async function changeCredentialPolicy(
  parts: Pick<KernelParts, "loop" | "credentialPolicies" | "storeRun">,
  answers: DurableAnswers,
  change: CredentialPolicyChange,
  caller: Caller,
): Promise<{ existing: boolean; entry: CredentialPolicyEntry; position: Uint8Array }> {
  answers.requireWorking();
  const { loop, credentialPolicies, storeRun } = parts;
  const { namespace, mode } = change;
  const before = credentialPolicies.get(namespace);
  const refusal = loop.held ?? judge(before, change);
  if (refusal !== undefined) {
    throw new RejectionError(refusal);
  }
  const existing = before.mode === mode;
  let entry = before;
  if (!existing) {
    const { principal } = caller;
    const value = { namespace, mode, version: before.version + 1, principal };
    const body = { case: "credentialPolicyChanged", value } as const;
    entry = { ...value, changedAtMs: loop.appendEvents(storeRun, [body]) };
    credentialPolicies.put(entry);
  }
  return { existing, entry, position: await answers.positionWhenDurable() };
}

/** A change that is there already, just made from the expected version, is one that was sent again. */
function judge(
  { version, mode }: CredentialPolicyEntry,
  change: CredentialPolicyChange,
): Rejection | undefined {
  const { expectedVersion = version } = change;
  const isResent = version === expectedVersion + 1 && mode === change.mode;
  return expectedVersion === version || isResent
    ? undefined
    : staleVersion(
        `credential policy of namespace "${change.namespace}"`,
        expectedVersion,
        version,
      );
}

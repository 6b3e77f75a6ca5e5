import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  CredentialMode,
  type CredentialPolicySchema,
  type GetCredentialPolicyRequest,
  type GetCredentialPolicyResponseSchema,
  type SetCredentialPolicyRequest,
  type SetCredentialPolicyResponseSchema,
} from "@pawl/proto/v1/credential_policy_pb.js";
import type { CredentialPolicyEntry } from "../../kernel/credential-policies.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { badField } from "../refusals.js";
import { readNamespace } from "../validate/fields.js";

/** Sets what a namespace does with credentials in content. */
export async function setCredentialPolicy(
  edge: Edge,
  request: SetCredentialPolicyRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof SetCredentialPolicyResponseSchema>> {
  const { mode, expectedVersion } = request;
  if (mode < CredentialMode.REFUSE || mode > CredentialMode.ALLOW) {
    throw badField("mode", "REFUSE, REDACT or ALLOW", `${mode}`);
  }
  const namespace = readNamespace(request.namespace);
  const { entry, existing, position } = await edge.kernel.changeCredentialPolicy(
    { namespace, mode, expectedVersion },
    call.caller,
  );
  return { policy: policyView(entry), existing, position };
}

/** Tells what a namespace does with credentials in content. */
export async function getCredentialPolicy(
  edge: Edge,
  { namespace }: GetCredentialPolicyRequest,
): Promise<MessageInitShape<typeof GetCredentialPolicyResponseSchema>> {
  const entry = await edge.kernel.getCredentialPolicy(readNamespace(namespace));
  return { policy: policyView(entry) };
}

function policyView(entry: CredentialPolicyEntry): MessageInitShape<typeof CredentialPolicySchema> {
  const { namespace, mode, version, principal, changedAtMs } = entry;
  return {
    ...{ namespace, mode, version, changedBy: principal },
    ...(changedAtMs === 0 ? {} : { changedAt: timestampFromMs(changedAtMs) }),
  };
}

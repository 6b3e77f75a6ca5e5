import {
  CredentialMode,
  type CredentialPolicy,
  CredentialPolicySchema,
} from "@pawl/proto/v1/credential_policy_pb.js";
import { Argument, type Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { principalName } from "../format/principal.js";
import { clean } from "../format/text.js";
import { type Clock, formatTime } from "../format/time.js";
import { messageFields } from "../json.js";
import { addKernelOptions, type KernelOptions } from "../options.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

const modes = {
  refuse: CredentialMode.REFUSE,
  redact: CredentialMode.REDACT,
  allow: CredentialMode.ALLOW,
} as const;

type ModeWord = keyof typeof modes;

/** `pawl namespace credentials NAME [refuse|redact|allow]`. */
export function addCredentialPolicyCommand(group: Command, context: CliContext): void {
  const command = group
    .command("credentials")
    .argument("<name>", "the namespace")
    .addArgument(
      new Argument(
        "[policy]",
        "what is done from now on; without it, what is done is shown",
      ).choices(Object.keys(modes)),
    )
    .description("what is done with content that holds a credential");
  addKernelOptions(command).action(
    (name: string, word: ModeWord | undefined, options: KernelOptions) =>
      withKernel(context, options, (session) =>
        word === undefined ? show(session, name) : change(session, name, word),
      ),
  );
}

async function show({ kernel, out }: KernelSession, namespace: string): Promise<void> {
  const { policy } = await kernel.admin.getCredentialPolicy(
    { namespace },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  if (out.isJson) {
    out.json(policy === undefined ? {} : messageFields(CredentialPolicySchema, policy));
    return;
  }
  out.lines(`${sentence(namespace, policy)}${by(policy, out.clock)}`);
}

async function change(
  { kernel, out }: KernelSession,
  namespace: string,
  word: ModeWord,
): Promise<void> {
  const { policy, existing } = await kernel.admin.setCredentialPolicy(
    { namespace, mode: modes[word] },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  if (out.isJson) {
    const fields = policy === undefined ? {} : messageFields(CredentialPolicySchema, policy);
    out.json({ ...fields, existing });
    return;
  }
  const since = existing ? "It was so already." : "It holds for what comes from now on.";
  out.lines(`${sentence(namespace, policy)} ${since}`);
}

function sentence(namespace: string, policy: CredentialPolicy | undefined): string {
  const word = Object.entries(modes).find(([, mode]) => mode === policy?.mode)?.[0] ?? "refuse";
  const does = { refuse: "refused", redact: "redacted", allow: "allowed" }[word] ?? word;
  return `Credentials in content of namespace ${clean(namespace)} are ${does}.`;
}

function by(policy: CredentialPolicy | undefined, clock: Clock): string {
  return policy === undefined || policy.version === 0
    ? ""
    : ` Set ${formatTime(policy.changedAt, clock)} by ${principalName(policy.changedBy)}.`;
}

import { type Namespace, NamespaceSchema } from "@pawl/proto/v1/admin_service_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { principalName } from "../format/principal.js";
import { clean, count } from "../format/text.js";
import { type Clock, formatTime } from "../format/time.js";
import { messageFields } from "../json.js";
import { addKernelOptions, type KernelOptions } from "../options.js";
import { LIMIT_MAX, readList } from "../paging.js";
import { type KernelSession, withKernel } from "../with-kernel.js";
import { addCredentialPolicyCommand } from "./namespace-credentials.js";
import { addNamespaceRetention } from "./namespace-retention.js";

/** `pawl namespace …`. */
export function addNamespaceCommands(program: Command, context: CliContext): void {
  const group = program
    .command("namespace")
    .description("create and list namespaces, and say how long they keep what");
  const create = group
    .command("create")
    .argument("<name>", "its name; it is never removed")
    .description("create a namespace");
  addKernelOptions(create).action((name: string, options: KernelOptions) =>
    withKernel(context, options, (session) => createNamespace(session, name)),
  );
  addCredentialPolicyCommand(group, context);
  addNamespaceRetention(group, context);
  const list = group.command("list").description("list the namespaces that you may see");
  addKernelOptions(list).action((options: KernelOptions) => withKernel(context, options, listAll));
}

async function createNamespace({ kernel, out }: KernelSession, name: string): Promise<void> {
  const answer = await kernel.admin.createNamespace({ name }, { timeoutMs: CALL_TIMEOUT_MS });
  const { existing, namespace } = answer;
  if (out.isJson) {
    const fields = namespace === undefined ? {} : messageFields(NamespaceSchema, namespace);
    out.json({ ...fields, existing });
    return;
  }
  out.lines(`Namespace ${clean(name)} ${existing ? "was there already" : "is created"}.`);
}

async function listAll({ kernel, out }: KernelSession): Promise<void> {
  const { items } = await readList(LIMIT_MAX, async (page) => {
    const answer = await kernel.admin.listNamespaces(page, { timeoutMs: CALL_TIMEOUT_MS });
    return { items: answer.namespaces, nextPageToken: answer.nextPageToken };
  });
  if (out.isJson) {
    for (const namespace of items) out.message(NamespaceSchema, namespace);
    return;
  }
  out.lines(`${count(items.length, "namespace")}.`);
  out.table(
    ["NAME", "CREATED", "BY"],
    items.map((namespace) => rowOf(namespace, out.clock)),
  );
}

function rowOf({ name, createdAt, createdBy }: Namespace, clock: Clock): string[] {
  return [name, formatTime(createdAt, clock), principalName(createdBy)];
}

import { type CurrentVersion, CurrentVersionSchema } from "@pawl/proto/v1/admin_service_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { principalName } from "../format/principal.js";
import { clean, count } from "../format/text.js";
import { type Clock, formatTime } from "../format/time.js";
import { type Json, messageFields } from "../json.js";
import { addKernelOptions, type KernelOptions, UINT32_MAX, wholeNumber } from "../options.js";
import { LIMIT_MAX, readList } from "../paging.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

/** The greatest version of a workflow, a bound of the API. */
const CODE_VERSION_MAX = 1_000_000;

interface ChangeOptions extends KernelOptions {
  readonly expectedVersion?: number;
}

/** `pawl version …`. */
export function addVersionCommands(program: Command, context: CliContext): void {
  const group = program
    .command("version")
    .description("the current versions of workflows, which new runs get that ask for them");
  const set = changing(group.command("set"))
    .argument("<version>", "the version, from 1", wholeNumber(1, CODE_VERSION_MAX))
    .description("make a version current: new runs that ask for it get it, and runs follow it");
  addKernelOptions(set).action((workflow: string, codeVersion: number, options: ChangeOptions) =>
    withKernel(context, options, (session) =>
      setVersion(session, { workflow, codeVersion }, options),
    ),
  );
  const remove = changing(group.command("remove")).description(
    "leave a workflow without a current version: starts that ask for it are refused",
  );
  addKernelOptions(remove).action((workflow: string, options: ChangeOptions) =>
    withKernel(context, options, (session) => removeVersion(session, workflow, options)),
  );
  const show = group
    .command("show")
    .argument("<workflow>", "name of the workflow")
    .description("show the current version of a workflow, and whether a worker serves it");
  addKernelOptions(show).action((workflow: string, options: KernelOptions) =>
    withKernel(context, options, (session) => showVersion(session, workflow)),
  );
  const list = group.command("list").description("list the current versions of a namespace");
  addKernelOptions(list).action((options: KernelOptions) => withKernel(context, options, listAll));
}

function changing(command: Command): Command {
  return command
    .argument("<workflow>", "name of the workflow")
    .option(
      "--expected-version <number>",
      "change it only from this state, as pawl version show tells it; 0: none was ever set",
      wholeNumber(0, UINT32_MAX),
    );
}

async function setVersion(
  { kernel, namespace, out, followUps }: KernelSession,
  { workflow, codeVersion }: { readonly workflow: string; readonly codeVersion: number },
  { expectedVersion }: ChangeOptions,
): Promise<void> {
  const expected = expectedVersion === undefined ? {} : { expectedVersion };
  const answer = await kernel.admin.setCurrentVersion(
    { namespace, workflow, codeVersion, ...expected },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  const { current, existing } = answer;
  if (out.isJson) {
    out.json({ ...fieldsOf(current), existing });
    return;
  }
  const was = existing ? "was current already" : "is current now";
  out.lines(`Version ${codeVersion} of workflow "${clean(workflow)}" ${was}; ${served(current)}.`);
  out.next([followUps.command("version show", [workflow])]);
}

async function removeVersion(
  { kernel, namespace, out }: KernelSession,
  workflow: string,
  { expectedVersion }: ChangeOptions,
): Promise<void> {
  const expected = expectedVersion === undefined ? {} : { expectedVersion };
  const { current, existing } = await kernel.admin.removeCurrentVersion(
    { namespace, workflow, ...expected },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  if (out.isJson) {
    out.json({ ...fieldsOf(current), existing });
    return;
  }
  out.lines(
    existing
      ? `Workflow "${clean(workflow)}" had no current version; nothing was changed.`
      : `Workflow "${clean(workflow)}" has no current version any more: starts that ask for it are refused, and runs that follow it wait.`,
  );
}

async function showVersion(
  { kernel, namespace, out, followUps }: KernelSession,
  workflow: string,
): Promise<void> {
  const { current } = await kernel.admin.getCurrentVersion(
    { namespace, workflow },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  if (out.isJson) {
    out.json(fieldsOf(current));
    return;
  }
  const { codeVersion = 0, version = 0, changedBy = "", changedAt } = current ?? {};
  const name = `workflow "${clean(workflow)}"`;
  const changed =
    version === 0
      ? ", and none was ever set"
      : `, since ${formatTime(changedAt, out.clock)}, by ${principalName(changedBy)}`;
  if (codeVersion === 0) {
    out.lines(`No version of ${name} is current${changed} (version ${version} of this entry).`);
    out.next([followUps.command("version set", [workflow, "1"])]);
    return;
  }
  out.lines(
    `Version ${codeVersion} of ${name} is current${changed} (version ${version} of this entry); ${served(current)}.`,
  );
}

async function listAll({ kernel, namespace, out }: KernelSession): Promise<void> {
  const { items } = await readList(LIMIT_MAX, async (page) => {
    const answer = await kernel.admin.listCurrentVersions(
      { namespace, ...page },
      { timeoutMs: CALL_TIMEOUT_MS },
    );
    return { items: answer.versions, nextPageToken: answer.nextPageToken };
  });
  if (out.isJson) {
    for (const current of items) out.message(CurrentVersionSchema, current);
    return;
  }
  out.lines(`${count(items.length, "workflow")} with a current version.`);
  out.table(
    ["WORKFLOW", "CURRENT", "WORKERS", "CHANGED", "BY"],
    items.map((current) => rowOf(current, out.clock)),
  );
}

function rowOf(current: CurrentVersion, clock: Clock): string[] {
  const { workflow, codeVersion, sessions, changedAt, changedBy } = current;
  return [
    workflow,
    `${codeVersion}`,
    `${sessions}`,
    formatTime(changedAt, clock),
    principalName(changedBy),
  ];
}

function served(current: CurrentVersion | undefined): string {
  const sessions = current?.sessions ?? 0;
  return sessions === 0
    ? "no worker that serves it is connected yet"
    : `${count(sessions, "worker")} ${sessions === 1 ? "serves" : "serve"} it`;
}

function fieldsOf(current: CurrentVersion | undefined): { [name: string]: Json } {
  return current === undefined ? {} : messageFields(CurrentVersionSchema, current);
}

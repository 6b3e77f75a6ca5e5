import { type Duration, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import { type KeepTimes, type Retention, RetentionSchema } from "@pawl/proto/v1/retention_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { principalName } from "../format/principal.js";
import { clean } from "../format/text.js";
import { formatLength, formatTime } from "../format/time.js";
import { messageFields } from "../json.js";
import {
  addKernelOptions,
  type KernelOptions,
  readLength,
  UINT32_MAX,
  wholeNumber,
} from "../options.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

/** What a namespace keeps, by the option that says how long, with what it is. */
const kept = [
  ["completed", "runs that COMPLETED"],
  ["failed", "runs that FAILED"],
  ["cancelled", "runs that were CANCELLED"],
  ["terminated", "runs that were TERMINATED"],
  ["approvals", "whatever holds proposals, at least"],
  ["operations", "settled operations of scope NAMESPACE"],
  ["tombstones", "tombstones: so long a deleted id cannot begin again"],
] as const;

type Kept = (typeof kept)[number][0];
type Times = { -readonly [Name in Kept]?: Duration };

/** `for ever` is no length. */
const forEver = "forever";

interface SetOptions extends KernelOptions, Partial<Record<Kept, number | typeof forEver>> {
  readonly expectedVersion?: number;
}

/** `pawl namespace retention …`. */
export function addNamespaceRetention(parent: Command, context: CliContext): void {
  const group = parent
    .command("retention")
    .description("how long a namespace keeps what has ended");
  const show = group.command("show").description("show how long the namespace keeps what");
  addKernelOptions(show).action((options: KernelOptions) =>
    withKernel(context, options, showRetention),
  );
  const set = group
    .command("set")
    .description("change how long the namespace keeps what; what is not named stays as it is");
  for (const [name, what] of kept) {
    set.option(
      `--${name} <length>`,
      `how long it keeps ${what}: such as 30d, or ${forEver}`,
      readKept,
    );
  }
  set.option(
    "--expected-version <number>",
    "change it only from this version, as pawl namespace retention show tells it",
    wholeNumber(0, UINT32_MAX),
  );
  addKernelOptions(set).action((options: SetOptions) =>
    withKernel(context, options, (session) => setRetention(session, options)),
  );
}

function readKept(text: string): number | typeof forEver {
  return text === forEver ? forEver : readLength(text);
}

async function showRetention({ kernel, namespace, out }: KernelSession): Promise<void> {
  const answer = await kernel.admin.getRetention({ namespace }, { timeoutMs: CALL_TIMEOUT_MS });
  tell(out, answer.retention);
}

/** What is not named is taken from what is, so the change counts only while that is as it was. */
async function setRetention(session: KernelSession, options: SetOptions): Promise<void> {
  const { kernel, namespace, out } = session;
  const timeout = { timeoutMs: CALL_TIMEOUT_MS };
  const { retention } = await kernel.admin.getRetention({ namespace }, timeout);
  const answer = await kernel.admin.setRetention(
    {
      namespace,
      keep: changed(retention?.keep, options),
      expectedVersion: options.expectedVersion ?? retention?.version ?? 0,
    },
    timeout,
  );
  if (out.isJson) {
    out.json({ ...fieldsOf(answer.retention), existing: answer.existing });
    return;
  }
  if (answer.existing) {
    out.lines("It was so already; nothing was changed.");
  }
  tell(out, answer.retention);
}

function changed(before: KeepTimes | undefined, options: SetOptions): Times {
  const times: Times = {};
  for (const [name] of kept) {
    const given = options[name];
    const time =
      given === undefined ? before?.[name] : given === forEver ? undefined : durationFromMs(given);
    if (time !== undefined) {
      times[name] = time;
    }
  }
  return times;
}

function tell(out: KernelSession["out"], retention: Retention | undefined): void {
  if (out.isJson) {
    out.json(fieldsOf(retention));
    return;
  }
  const { keep, hold, version = 0, changedAt, changedBy = "", namespace = "" } = retention ?? {};
  const said =
    version === 0
      ? "nobody ever changed it"
      : `version ${version}, changed by ${principalName(changedBy)} ${formatTime(changedAt, out.clock)}`;
  out.lines(`Namespace ${clean(namespace)} keeps what has ended so long (${said}):`);
  out.table(
    ["WHAT", "FOR"],
    kept.map(([name, what]) => [what, wordsOf(name, keep?.[name])]),
  );
  if (hold !== undefined) {
    const why = hold.reason === "" ? "" : ` ("${clean(hold.reason)}")`;
    out.lines(
      `It is held by ${principalName(hold.principal)} since ${formatTime(hold.at, out.clock)}${why}: nothing is deleted.`,
    );
  }
}

function wordsOf(name: Kept, time: Duration | undefined): string {
  if (time !== undefined) {
    return formatLength(durationMs(time));
  }
  return name === "approvals" ? "no longer than others" : "ever";
}

function fieldsOf(retention: Retention | undefined): ReturnType<typeof messageFields> {
  return retention === undefined ? {} : messageFields(RetentionSchema, retention);
}

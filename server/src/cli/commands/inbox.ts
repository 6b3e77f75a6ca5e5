import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { count } from "../format/text.js";
import { type Entry, inputEntry, proposalEntry, reviewEntry } from "../inbox/entry.js";
import { readInbox } from "../inbox/read-inbox.js";
import { gatherWho, whoOf } from "../inbox/who.js";
import { addKernelOptions, type KernelOptions, wholeNumber } from "../options.js";
import { LIMIT_MAX, ROWS_DEFAULT } from "../paging.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

interface InboxOptions extends KernelOptions {
  readonly for?: readonly string[];
  readonly limit: number;
}

/** `pawl inbox`. */
export function addInbox(program: Command, context: CliContext): void {
  const command = program
    .command("inbox")
    .description("list everything that waits for a person, with the commands that answer it")
    .option(
      "--for <who>",
      "only what this principal or role:NAME may answer; give it again for more of one's roles",
      gatherWho,
    )
    .option("--limit <count>", "most things of each kind", wholeNumber(1, LIMIT_MAX), ROWS_DEFAULT);
  addKernelOptions(command).action((options: InboxOptions) =>
    withKernel(context, options, (session) => printInbox(session, options)),
  );
}

async function printInbox(session: KernelSession, options: InboxOptions): Promise<void> {
  const { out } = session;
  const inbox = await readInbox(session, whoOf(options.for), options.limit);
  const groups = [
    ["proposal", "decide", inbox.proposals.map((each) => proposalEntry(session, each))],
    ["question", "answer", inbox.inputs.map((each) => inputEntry(session, each))],
    ["review", "resolve", inbox.reviews.map((each) => reviewEntry(session, each))],
  ] as const;
  if (out.isJson) {
    for (const [, , entries] of groups) {
      for (const { json, commands } of entries) out.json({ ...json, commands });
    }
  } else {
    for (const [noun, verb, entries] of groups) {
      printGroup(session, `${count(entries.length, noun)} to ${verb}, oldest first.`, entries);
    }
    if (groups.every(([, , entries]) => entries.length === 0)) {
      const whom = options.for === undefined ? "a person" : options.for.join(" or ");
      out.lines(`Nothing waits for ${whom} here.`);
    }
  }
  if (inbox.hasMore) out.notice("There is more than is listed; --limit lists more.");
}

function printGroup({ out }: KernelSession, heading: string, entries: readonly Entry[]): void {
  if (entries.length === 0) return;
  out.lines(heading);
  for (const { headline, fields, commands } of entries) {
    out.lines("", headline);
    out.fields([...fields, ...Object.entries(commands)]);
  }
  out.lines("");
}

import { type Run, RunSchema, type RunStatus, RunStatusSchema } from "@pawl/proto/v1/run_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { enumChoices } from "../format/enum-word.js";
import { RUN_HEADINGS, runRow } from "../format/run.js";
import { count } from "../format/text.js";
import { addKernelOptions, enumWordOption, type KernelOptions, wholeNumber } from "../options.js";
import { LIMIT_MAX, printList, ROWS_DEFAULT, readList } from "../paging.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

interface ListOptions extends KernelOptions {
  readonly status?: RunStatus;
  readonly workflow?: string;
  readonly limit: number;
}

/** `pawl run list`. */
export function addRunList(group: Command, context: CliContext): void {
  const command = group
    .command("list")
    .description("list runs, newest first")
    .option(
      "--status <status>",
      `only runs in this state: ${enumChoices(RunStatusSchema).join(", ")}`,
      enumWordOption(RunStatusSchema),
    )
    .option("--workflow <name>", "only runs of this workflow")
    .option("--limit <count>", "most runs to list", wholeNumber(1, LIMIT_MAX), ROWS_DEFAULT);
  addKernelOptions(command).action((options: ListOptions) =>
    withKernel(context, options, async (session) => {
      const { kernel, namespace } = session;
      const list = await readList(options.limit, async (page) => {
        const answer = await kernel.runs.listRuns(
          { namespace, status: options.status ?? 0, workflow: options.workflow ?? "", ...page },
          { timeoutMs: CALL_TIMEOUT_MS },
        );
        return { items: answer.runs, nextPageToken: answer.nextPageToken };
      });
      printList(session.out, list, {
        schema: RunSchema,
        noun: "run",
        print: (runs) => printRuns(session, runs),
      });
    }),
  );
}

function printRuns({ out, followUps }: KernelSession, runs: readonly Run[]): void {
  const [newest] = runs;
  if (newest === undefined) {
    out.lines("No run matches.");
    out.next(["npx --no pawl run start --help"]);
    return;
  }
  out.lines(`${count(runs.length, "run")}, newest first.`);
  out.table(
    RUN_HEADINGS,
    runs.map((run) => runRow(run, out.clock)),
  );
  out.next([followUps.command("run show", [newest.runId])]);
}

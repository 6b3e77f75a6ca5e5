import { resolve } from "node:path";
import { type Command, Option } from "commander";
import type { CliContext } from "../context.js";
import { exitCodes } from "../exit-codes.js";
import { count } from "../format/text.js";
import { Output } from "../output.js";
import { loadTestKit, loadUserModule, runUserCode } from "../user-module.js";

/** One execution with a crash, as `@pawl/sdk/testing` tells of it. */
interface Line {
  readonly workflow: string;
  readonly point: string;
  readonly kill: string;
  readonly interrupted: string;
  readonly ended: string;
  readonly effects: number;
  readonly once: boolean;
  readonly survived: boolean;
  readonly problem: string;
}

/** What is used of `@pawl/sdk/testing`: the file's own, so that its workflows are the ones that it knows. */
interface TestKit {
  crashDemo(
    exported: Readonly<Record<string, unknown>>,
    options: { readonly kill?: readonly string[] },
  ): Promise<readonly Line[]>;
}

interface DemoOptions {
  readonly kill?: string;
  readonly json?: boolean;
}

const KILLS = ["worker", "kernel", "both"];

/** `pawl demo crash FILE`. */
export function addDemo(
  program: Command,
  context: CliContext,
  setExitCode: (code: number) => void,
): void {
  program
    .command("demo")
    .description("show what crashes do to your own code")
    .command("crash")
    .description(
      "run the workflows of a file on a kernel in memory, once for each crash point of their own calls, and compare each end with that of an undisturbed run",
    )
    .argument("<file>", "a JavaScript module that exports workflows")
    .addOption(
      new Option("--kill <who>", "what dies; default: each of them, one after the other").choices(
        KILLS,
      ),
    )
    .option("--json", "print one JSON object a line")
    .action(async (file: string, options: DemoOptions) =>
      setExitCode(await demoCrash(context, file, options)),
    );
}

async function demoCrash(
  context: CliContext,
  file: string,
  { kill, json }: DemoOptions,
): Promise<number> {
  const path = resolve(context.cwd, file);
  const kit = await loadTestKit<TestKit>(path);
  const exported = await loadUserModule(path);
  const options = kill === undefined ? {} : { kill: [kill] };
  const lines = await runUserCode(path, () => kit.crashDemo(exported, options));
  print(new Output(context, json), lines);
  return lines.every(({ survived }) => survived) ? exitCodes.ok : exitCodes.refused;
}

function print(out: Output, lines: readonly Line[]): void {
  if (out.isJson) {
    for (const line of lines) out.json({ ...line });
    return;
  }
  out.table(
    ["WORKFLOW", "CRASH", "DIES", "WHAT IT INTERRUPTED", "HOW IT ENDED", "EFFECTS", "ONCE"],
    lines.map(({ workflow, point, kill, interrupted, ended, effects, once, survived }) => [
      workflow,
      point,
      kill,
      interrupted,
      survived ? ended : { text: `${ended} (not as undisturbed)`, look: "bad" },
      `${effects}`,
      once ? "yes" : { text: "NO", look: "bad" },
    ]),
  );
  const failed = lines.filter(({ survived }) => !survived);
  for (const { point, kill, problem } of failed.slice(0, 5)) {
    out.lines("", `${kill} dies ${point}: ${problem}`);
  }
  out.lines(
    "",
    failed.length === 0
      ? `${count(lines.length, "crash", "crashes")}, and every run ended as it does undisturbed.`
      : `${failed.length} of ${count(lines.length, "crash", "crashes")} made a difference.`,
  );
}

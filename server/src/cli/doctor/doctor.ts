import type { DoctorOptions } from "../commands/doctor.js";
import type { CliContext } from "../context.js";
import { type ExitCode, exitCodes } from "../exit-codes.js";
import type { Look } from "../format/style.js";
import { clean } from "../format/text.js";
import { formatAge, formatLocal } from "../format/time.js";
import { Output } from "../output.js";
import { examine } from "./examine.js";
import { type Health, judge, type Verdict } from "./judge.js";

const LOOKS: Readonly<Record<Health, Look>> = { well: "good", attention: "attention", bad: "bad" };

/** `pawl doctor`. Exit code 0 when nothing is to be done, 1 when something is. */
export async function doctor(context: CliContext, options: DoctorOptions): Promise<ExitCode> {
  const out = new Output(context, options.json);
  const found = await examine(context, options);
  const verdicts = judge(found, (atMs) =>
    out.isJson
      ? new Date(atMs).toISOString()
      : `${formatLocal(atMs, out.clock)} (${formatAge(atMs, out.clock)})`,
  );
  const health = worstOf(verdicts);
  if (out.isJson) {
    const { holder } = found;
    out.json({
      dir: options.dir,
      health,
      ...(holder === undefined ? {} : { holder: { pid: holder.pid, url: holder.url ?? "" } }),
      checks: verdicts.map(({ topic, health: how, says, next }) => ({
        ...{ topic, health: how, says },
        next: [...next],
      })),
    });
  } else {
    print(out, options, { verdicts, health });
  }
  return health === "well" ? exitCodes.ok : exitCodes.refused;
}

const HEADLINES: Readonly<Record<Health, string>> = {
  well: "is well",
  attention: "wants attention",
  bad: "is not well",
};

function print(
  out: Output,
  { dir }: DoctorOptions,
  { verdicts, health }: { readonly verdicts: readonly Verdict[]; readonly health: Health },
): void {
  out.lines(`The data folder ${clean(dir)} ${out.style(LOOKS[health], HEADLINES[health])}.`, "");
  const width = Math.max(...verdicts.map(({ topic }) => topic.length));
  for (const { topic, health: how, says } of verdicts) {
    const sentence = clean(says);
    out.lines(
      `  ${out.style("dim", `${topic}:`.padEnd(width + 1))} ${how === "well" ? sentence : out.style(LOOKS[how], sentence)}`,
    );
  }
  out.next([...new Set(verdicts.flatMap(({ next }) => next))]);
}

function worstOf(verdicts: readonly Verdict[]): Health {
  const healths = verdicts.map(({ health }) => health);
  if (healths.includes("bad")) return "bad";
  return healths.includes("attention") ? "attention" : "well";
}

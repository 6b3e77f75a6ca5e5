import { resolve } from "node:path";
import { readCrashPoints } from "../../kernel/crash-points.js";
import { type BegunEpoch, beginEpoch } from "../../kernel/storage/begin-epoch.js";
import { openDataFolder } from "../../log/open-store.js";
import type { RestoreOptions } from "../commands/restore.js";
import type { CliContext } from "../context.js";
import { exitCodes } from "../exit-codes.js";
import { quoteWord } from "../follow-up.js";
import { clean, formatNumber } from "../format/text.js";
import { Output } from "../output.js";
import { explainStoreError } from "../serve/explain-serve-error.js";

/** The one partition that a kernel of this version has. */
const PARTITION = 0;

/** Longest reason, in characters. */
const REASON_MAX = 500;

/**
 * `pawl restore`: begins a new epoch of a data folder that no kernel serves. Given again it begins one more; nothing else changes.
 * Errors: `CliError`, with what to do next.
 */
export async function restore(context: CliContext, options: RestoreOptions): Promise<number> {
  const out = new Output(context, options.json);
  const begun = await begin(context, options);
  if (out.isJson) {
    const { epoch, afterSequence, lostSequence } = begun;
    out.json({ epoch, afterSequence: `${afterSequence}`, lostSequence: `${lostSequence}` });
    return exitCodes.ok;
  }
  tell(begun, options, out);
  return exitCodes.ok;
}

function tell(
  { epoch, afterSequence, lostSequence }: BegunEpoch,
  { dir }: RestoreOptions,
  out: Output,
): void {
  const lost =
    lostSequence === 0
      ? []
      : [
          `What a caller had been told up to sequence ${formatNumber(lostSequence)} and is not here is given up.`,
        ];
  out.lines(
    `The store in ${clean(dir)} begins epoch ${epoch}, after sequence ${formatNumber(afterSequence)}.`,
    ...lost,
    "Whoever watches with a position of an earlier epoch is told PAWL_STORE_REWOUND, reads anew and goes on.",
  );
  out.next([`npx --no pawl serve --dir ${quoteWord(dir)}`]);
}

async function begin(context: CliContext, options: RestoreOptions): Promise<BegunEpoch> {
  const { dir, reason } = options;
  const crash = readCrashPoints(context.env);
  try {
    const folder = await openDataFolder(resolve(context.cwd, dir), {
      create: false,
      checksAllTables: true,
    });
    try {
      return await beginEpoch(folder.store, {
        partition: PARTITION,
        nowMs: context.clock.nowMs(),
        reason: reason.slice(0, REASON_MAX),
        onStep: (step) => crash?.hit(`epoch:${step}`),
      });
    } finally {
      await folder.close();
    }
  } catch (error) {
    throw await explainStoreError(error, options);
  }
}

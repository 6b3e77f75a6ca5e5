import { toHex } from "../../log/bytes.js";
import type { StoreDamaged } from "../../log/store-errors.js";
import type {
  VerifyCounts,
  VerifyProblem,
  VerifyReport,
  VerifyStage,
} from "../../log/verify-log.js";
import { clean, count, formatNumber } from "../format/text.js";
import type { Json } from "../json.js";
import type { Output } from "../output.js";

/** Progress is told this often at most. */
const PROGRESS_EVERY_MS = 1_000;

/** Where a problem was found: while opening, or in what. */
type Stage = VerifyStage | "open";

type Problem = Pick<VerifyProblem, "message" | "firstBadSequence" | "key"> & {
  readonly stage: Stage;
};

const STAGES: Readonly<Record<Stage, string>> = {
  open: "the files",
  log: "the chain of segments",
  history: "the history of runs",
  rows: "the rows",
};

/** Prints what a verification says: problems as they are found, and a verdict at the end. */
export class VerifyPrinter {
  readonly #out: Output;
  readonly #dir: string;
  #problems = 0;
  #isDone = false;
  #toldAtMs: number;

  constructor(out: Output, dir: string) {
    this.#out = out;
    this.#dir = dir;
    this.#toldAtMs = out.clock.nowMs();
  }

  /** True once everything was checked and is as written. */
  get isSound(): boolean {
    return this.#isDone && this.#problems === 0;
  }

  /** Problems so far. */
  get problems(): number {
    return this.#problems;
  }

  print(report: VerifyReport): void {
    switch (report.kind) {
      case "progress":
        this.#tellProgress(report.stage, report.counts);
        return;
      case "problem":
        this.#problems += 1;
        this.#tellProblem(report);
        return;
      case "done":
        this.#isDone = report.isComplete;
        this.#tellVerdict(report);
        return;
    }
  }

  /** The folder cannot be opened for damage: that is the one problem there is to tell. */
  printUnopened({ message, firstBadSequence, key }: StoreDamaged): void {
    this.#problems += 1;
    this.#tellProblem({ stage: "open", message, firstBadSequence, key });
    if (this.#out.isJson) this.#out.json({ sound: false, complete: false, problems: 1 });
    else this.#tellUnsound("cannot be opened", "");
  }

  #tellProgress(stage: VerifyStage, counts: VerifyCounts): void {
    const nowMs = this.#out.clock.nowMs();
    if (nowMs - this.#toldAtMs < PROGRESS_EVERY_MS) return;
    this.#toldAtMs = nowMs;
    this.#out.notice(`Checking ${STAGES[stage]}: ${describeCounts(counts)} so far.`);
  }

  #tellProblem({ stage, message, firstBadSequence, key }: Problem): void {
    if (this.#out.isJson) {
      this.#out.json({
        problem: {
          stage,
          message,
          ...(firstBadSequence === undefined ? {} : { firstBadSequence: `${firstBadSequence}` }),
          ...(key === undefined ? {} : { key }),
        },
      });
      return;
    }
    this.#out.lines(`${this.#out.style("bad", "Problem")} in ${STAGES[stage]}: ${clean(message)}`);
  }

  #tellVerdict(report: Extract<VerifyReport, { kind: "done" }>): void {
    const { counts, problems, isComplete, head } = report;
    if (this.#out.isJson) {
      this.#out.json({
        sound: this.isSound,
        complete: isComplete,
        problems,
        counts: countsJson(counts),
        head: { sequence: `${head.sequence}`, hash: toHex(head.hash) },
      });
      return;
    }
    const checked = `Checked ${describeCounts(counts)}, up to sequence ${formatNumber(head.sequence)}.`;
    if (this.isSound) {
      this.#out.lines(
        `The store in ${clean(this.#dir)} is ${this.#out.style("good", "sound")}. ${checked}`,
      );
      return;
    }
    const many = `has ${count(problems, "problem")}`;
    const found = isComplete ? many : `could not be read to its end, and ${many}`;
    this.#tellUnsound(found, ` ${checked}`);
  }

  #tellUnsound(found: string, checked: string): void {
    this.#out.lines(
      "",
      `The store in ${clean(this.#dir)} ${this.#out.style("bad", found)}.${checked}`,
      "Nothing was changed. Keep a copy of the folder as it is, and restore from a backup; no kernel serves what is damaged.",
    );
  }
}

function describeCounts({ segments, events, chunks, rows, bytes }: VerifyCounts): string {
  const parts = [count(segments, "segment"), count(events, "event"), count(chunks, "chunk")];
  return `${parts.join(", ")}, ${count(rows, "row")} and ${count(bytes, "byte")}`;
}

function countsJson(counts: VerifyCounts): Json {
  return Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, `${value}`]));
}

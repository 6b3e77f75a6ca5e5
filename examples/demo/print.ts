import type { Line } from "./judge.js";

/** Prints lines as they come, and what is left at the end. */
export interface Printer {
  readonly line: (line: Line) => void;
  readonly end: (lines: readonly Line[]) => void;
}

/** One JSON object a line. */
export function printJson(): Printer {
  return {
    line: ({ window, sink, killed, sinkCalls, sinkEffects, outcome, ok, problem }) => {
      const fields = { window, sink, killed, sinkCalls, sinkEffects, outcome, ok };
      process.stdout.write(`${JSON.stringify(fields)}\n`);
      if (problem !== "") process.stderr.write(`${window} ${sink}: ${problem}\n`);
    },
    end: () => undefined,
  };
}

const columns = [
  ["window", 26],
  ["sink", 14],
  ["killed (SIGKILL)", 18],
  ["calls", 7],
  ["effects", 9],
  ["outcome", 14],
  ["", 5],
] as const;

/** A table for people. */
export function printTable(rowCount: number): Printer {
  const write = (cells: readonly string[]): void => {
    const padded = columns.map(([, width], index) => (cells[index] ?? "").padEnd(width));
    process.stdout.write(`${padded.join("").trimEnd()}\n`);
  };
  process.stdout.write(
    `${lineCount(rowCount)}: a process is killed for real at each window, for each kind of sink, and the calls and effects\n` +
      "are counted in the sink's own books. The whole table takes a minute or two.\n\n",
  );
  write(columns.map(([heading]) => heading));
  return {
    line: ({ window, sink, killed, sinkCalls, sinkEffects, outcome, ok, problem }) => {
      write([window, sink, killed, `${sinkCalls}`, `${sinkEffects}`, outcome, ok ? "ok" : "WRONG"]);
      if (problem !== "") process.stdout.write(`  ${problem}\n`);
    },
    end: (lines) => {
      const wrong = lines.filter(({ ok }) => !ok).length;
      process.stdout.write(
        wrong === 0
          ? `\n${lineCount(lines.length)} played, all as expected. docs/concepts/failure-windows.md explains each.\n`
          : `\n${wrong} of ${lineCount(lines.length)} wrong.\n`,
      );
    },
  };
}

function lineCount(count: number): string {
  return count === 1 ? "1 line" : `${count} lines`;
}

import { setTimeout as delay } from "node:timers/promises";
import { listenForStop } from "../processes/stop-signals.js";
import { judge, type Line } from "./judge.js";
import { plays } from "./play.js";
import { printJson, printTable } from "./print.js";
import { type Row, Scene } from "./scene.js";
import { readSettings, type Settings, SettingsInvalid, usage } from "./settings.js";

/** Lines that are played at the same time. Most of a line is waiting for leases and deadlines. */
const atOnce = 4;

/** No line takes longer on any machine that is alive. */
const lineMsMax = 120_000;

/**
 * `npm run demo`: kills worker, kernel and single agent at every window, for each kind of sink, and counts at the sink.
 *
 * @returns 0 when every line is right, 1 otherwise, 2 when the command line is not understood.
 */
export async function main(argv: readonly string[]): Promise<number> {
  try {
    const settings = readSettings(argv);
    if (!settings.asksHelp) return await playSettings(settings);
    process.stdout.write(`${usage}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof SettingsInvalid)) throw error;
    process.stderr.write(`npm run demo: ${error.message}\n${usage}\n`);
    return 2;
  }
}

async function playSettings({ json, rows }: Settings): Promise<number> {
  const print = json ? printJson() : printTable(rows.length);
  const stop = listenForStop();
  const stopped = new AbortController();
  void stop.stopped.then(() => stopped.abort());
  const lines = await playAll(rows, print.line, stopped.signal);
  stop.close();
  if (stopped.signal.aborted) return 130;
  print.end(lines);
  const isWhole = rows.every((row) => lines.some((line) => isOf(line, row)));
  return isWhole && lines.every(({ ok }) => ok) ? 0 : 1;
}

function isOf(line: Line, row: Row): boolean {
  return line.window === row.window && line.sink === row.sink;
}

async function playAll(
  rows: readonly Row[],
  print: (line: Line) => void,
  signal: AbortSignal,
): Promise<Line[]> {
  const left = [...rows.entries()];
  const lines: Line[] = [];
  let printed = 0;
  const playNext = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [place, row] = next;
      const line = await play(row, signal);
      if (signal.aborted) return;
      lines[place] = line;
      // In the order of the list, whichever is ready first.
      for (let due = lines[printed]; due !== undefined; due = lines[printed]) {
        print(due);
        printed += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, playNext));
  return lines;
}

async function play(row: Row, signal: AbortSignal): Promise<Line> {
  const scene = await Scene.open(row);
  const over = new AbortController();
  const timers = AbortSignal.any([signal, over.signal]);
  const limit = delay(lineMsMax, undefined, { signal: timers }).then(() => {
    throw new Error(`took longer than ${lineMsMax / 1_000} s`);
  });
  const played = plays[row.window](scene).then(() => judge(scene));
  try {
    return await Promise.race([played, limit]);
  } catch (error) {
    const killed = scene.killed.join(" + ");
    const problem = error instanceof Error ? error.message : String(error);
    return { ...row, killed, sinkCalls: 0, sinkEffects: 0, outcome: "failed", ok: false, problem };
  } finally {
    over.abort();
    await scene.close();
    // What was interrupted by the end of the scene has nothing more to say.
    await Promise.allSettled([played, limit]);
  }
}

import { type CrashKill, describePoint, type ExactPoint, PointList } from "./crash-point.js";
import { openTestEnvironment, type TestEnvironment } from "./environment.js";
import { CrashWindowsDiffer, messageOf } from "./errors.js";
import { type BodyEnd, differenceOf, readEnd } from "./run-ends.js";

/** What is tried at each point. */
export interface CrashWindowOptions {
  /** What dies at each point, one after the other. Default: `worker`, `kernel` and `both`. */
  readonly kill?: readonly CrashKill[];
  /** What the clock says at the beginning of each execution. Default: now. */
  readonly startAt?: Date;
}

/** One execution of the body, with a crash. */
export interface CrashWindow {
  readonly point: ExactPoint;
  readonly kill: CrashKill;
  /** False: the code did not come to this point again, so that nothing crashed. */
  readonly hasCrashed: boolean;
  /** What differs from the undisturbed execution. Undefined: nothing does. */
  readonly difference: string | undefined;
  /** How it ended. Undefined: the body threw. */
  readonly end: BodyEnd | undefined;
}

/** What became of every crash. */
export interface CrashReport {
  /** Points that the undisturbed execution went through, in order. */
  readonly points: readonly ExactPoint[];
  /** Each execution with a crash. */
  readonly windows: readonly CrashWindow[];
  /** Effects of all sinks together, in the undisturbed execution. */
  readonly effects: number;
  /** How the undisturbed execution ended. */
  readonly undisturbed: BodyEnd;
}

/** What a test does in its environment. What it returns is compared too. */
export type CrashBody = (env: TestEnvironment) => Promise<unknown>;

const KILLS: readonly CrashKill[] = ["worker", "kernel", "both"];

/**
 * Executes the body once undisturbed, to learn what its code goes through; then once for each point and each way to die there, in an environment of its own.
 * Each must end as the undisturbed one: the same value returned, the same ends of all runs, the same effects in every sink.
 *
 * @throws CrashWindowsDiffer with every execution that ended otherwise; whatever the undisturbed execution throws.
 */
export async function everyCrashWindow(
  body: CrashBody,
  options: CrashWindowOptions = {},
): Promise<CrashReport> {
  const report = await tryEveryCrash(body, options);
  const failed = report.windows.filter(({ difference }) => difference !== undefined);
  if (failed.length > 0) throw new CrashWindowsDiffer(describeReport(report), report);
  return report;
}

/** As `everyCrashWindow`, without a judgement. */
export async function tryEveryCrash(
  body: CrashBody,
  { kill = KILLS, startAt = new Date() }: CrashWindowOptions,
): Promise<CrashReport> {
  const list = new PointList();
  const undisturbed = await execute(body, startAt, (env) => {
    env.onMoment((moment) => list.add(moment));
  });
  const windows: CrashWindow[] = [];
  for (const point of list.points) {
    for (const killed of kill) {
      windows.push(await crashOnce(body, { point, kill: killed, startAt, undisturbed }));
    }
  }
  return { points: list.points, windows, effects: undisturbed.effects, undisturbed };
}

interface Attempted {
  readonly point: ExactPoint;
  readonly kill: CrashKill;
  readonly startAt: Date;
  readonly undisturbed: BodyEnd;
}

async function crashOnce(
  body: CrashBody,
  { point, kill, startAt, undisturbed }: Attempted,
): Promise<CrashWindow> {
  let env: TestEnvironment | undefined;
  let difference: string | undefined;
  let end: BodyEnd | undefined;
  try {
    end = await execute(body, startAt, (opened) => {
      env = opened;
      opened.crashAt(point, { kill });
    });
    difference = differenceOf(end, undisturbed);
  } catch (error) {
    difference = messageOf(error);
  }
  return { point, kill, hasCrashed: env?.hasCrashed === true, difference, end };
}

async function execute(
  body: CrashBody,
  startAt: Date,
  prepare: (env: TestEnvironment) => void,
): Promise<BodyEnd> {
  await using env = await openTestEnvironment({ startAt });
  prepare(env);
  const returned = await body(env);
  return await readEnd(env, returned);
}

/** Windows that are told one by one. */
const TOLD_MAX = 20;

/** A report as people read it: first what is wrong. */
export function describeReport({ points, windows }: CrashReport): string {
  const failed = windows.filter(({ difference }) => difference !== undefined);
  const lines = failed
    .slice(0, TOLD_MAX)
    .map(({ point, kill, difference }) => `- ${kill} dies ${describePoint(point)}: ${difference}`);
  const more = failed.length - lines.length;
  return [
    `Expected each of ${windows.length} executions with a crash (${points.length} points) to end as the undisturbed one, but ${failed.length} did not:`,
    ...lines,
    ...(more > 0 ? [`- and ${more} more`] : []),
  ].join("\n");
}

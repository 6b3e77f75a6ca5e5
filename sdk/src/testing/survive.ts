import type { Startable } from "../connect.js";
import type { Run } from "../run.js";
import type { ServedTask } from "../task.js";
import type { TestEnvironment } from "./environment.js";
import { EffectsDiffer } from "./errors.js";
import {
  type CrashReport,
  type CrashWindowOptions,
  everyCrashWindow,
} from "./every-crash-window.js";

/** How a workflow or task is run through every crash. */
export interface SurvivalOptions<Sent = unknown> extends CrashWindowOptions {
  /** What it is started with. */
  readonly input?: Sent;
  /** What else workers serve: the tasks that it calls. */
  readonly serve?: readonly ServedTask[];
  /** Effects of all test sinks together. Default: as many as undisturbed. */
  readonly sinkEffects?: number;
  /** What people and other systems do meanwhile: signals, decisions, answers. It comes when the code waits. */
  readonly meanwhile?: (env: TestEnvironment, run: Run) => Promise<unknown>;
}

/**
 * Runs a workflow or task once undisturbed and once through every crash of its own calls, and compares how each run ends and what reached the test sinks.
 *
 * @throws CrashWindowsDiffer; EffectsDiffer when the undisturbed run has other effects than `sinkEffects`; what the undisturbed run throws.
 */
export async function surviveEveryCrash<Sent, Output>(
  served: ServedTask<Sent, Output>,
  { input, serve = [], sinkEffects, meanwhile, ...options }: SurvivalOptions<Sent> = {},
): Promise<CrashReport> {
  // What the input must be was said above, where it is not yet optional.
  const startable: Startable<unknown, Output> = served;
  const report = await everyCrashWindow(async (env) => {
    await env.worker({ serve: [served, ...serve] });
    const run = await env.kernel.start(startable, input);
    await env.settle();
    await meanwhile?.(env, run);
    return run.result();
  }, options);
  if (sinkEffects !== undefined && report.effects !== sinkEffects) {
    throw new EffectsDiffer(sinkEffects, report.effects);
  }
  return report;
}

import { PawlError } from "../errors.js";
import type { CrashReport } from "./every-crash-window.js";
import type { Replay } from "./replay.js";

/** The test kit was asked for what it cannot do. */
export class TestKitMisused extends PawlError {
  override readonly name: string = "TestKitMisused";

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super("PAWL_TEST_MISUSED", message, { ...options, retryable: false });
  }
}

/** A history and today's code do not fit together. */
export class ReplayDiffers extends PawlError {
  override readonly name: string = "ReplayDiffers";

  constructor(
    workflow: string,
    { difference, unvisited }: Pick<Replay, "difference" | "unvisited">,
  ) {
    const what = difference ?? `the code returned without having reached ${unvisited.join(", ")}.`;
    super("PAWL_REPLAY_DIFFERS", `Expected "${workflow}" to fit the history, but: ${what}`, {
      retryable: false,
    });
  }
}

/** The test waits for something that never comes: nothing runs, and nothing is due. */
export class TestStuck extends PawlError {
  override readonly name: string = "TestStuck";

  constructor(message: string) {
    super("PAWL_TEST_STUCK", message, { retryable: false });
  }
}

/** What anything that was thrown says. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
}

/** Some executions with a crash ended otherwise than the undisturbed one. */
export class CrashWindowsDiffer extends PawlError {
  override readonly name: string = "CrashWindowsDiffer";
  /** All executions. */
  readonly report: CrashReport;

  constructor(message: string, report: CrashReport) {
    super("PAWL_CRASH_WINDOWS_DIFFER", message, { retryable: false });
    this.report = report;
  }
}

/** An undisturbed run had other effects than the test says. */
export class EffectsDiffer extends PawlError {
  override readonly name: string = "EffectsDiffer";

  constructor(expected: number, actual: number) {
    super(
      "PAWL_EFFECTS_DIFFER",
      `Expected ${expected} effects in all test sinks together, but there were ${actual}, with no crash.`,
      { retryable: false },
    );
  }
}

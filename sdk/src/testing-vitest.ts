import { expect } from "vitest";
import type { ServedTask } from "./task.js";
import { messageOf, ReplayDiffers } from "./testing/errors.js";
import { type History, type ReplayOptions, replay } from "./testing/replay.js";
import { type SurvivalOptions, surviveEveryCrash } from "./testing/survive.js";

/** What `expect` knows once this module is imported. */
interface CrashMatchers<R> {
  /**
   * A workflow or task that ends the same way, with the same effects in every test sink, whatever dies at whatever point of its own calls. See
   * `surviveEveryCrash`. Await it.
   */
  toSurviveEveryCrash(options?: SurvivalOptions): Promise<R>;
  /** A workflow whose code fits this history; see `replay`. Await it. */
  toFitHistory(history: History, options?: ReplayOptions): Promise<R>;
}

declare module "vitest" {
  // The names are vitest's.
  // biome-ignore lint/suspicious/noExplicitAny: as vitest declares it
  interface Matchers<T = any> extends CrashMatchers<T> {}
}

/** The matchers of the test kit, for `expect.extend`. Importing this module has done that already. */
export const crashMatchers: {
  toSurviveEveryCrash(
    received: ServedTask,
    options?: SurvivalOptions,
  ): Promise<{ pass: boolean; message: () => string }>;
  toFitHistory(
    received: ServedTask,
    history: History,
    options?: ReplayOptions,
  ): Promise<{ pass: boolean; message: () => string }>;
} = {
  async toFitHistory(received, history, options = {}) {
    const replayed = await replay(history, received, options);
    const message = (): string =>
      replayed.fits
        ? `Expected "${received.name}" not to fit the history, but it does.`
        : new ReplayDiffers(received.name, replayed).message;
    return { pass: replayed.fits, message };
  },
  async toSurviveEveryCrash(received, options = {}) {
    try {
      const { windows } = await surviveEveryCrash(received, options);
      const message = (): string =>
        `Expected "${received.name}" to end otherwise after some crash, but all ${windows.length} executions ended the same.`;
      return { pass: true, message };
    } catch (error) {
      return { pass: false, message: () => messageOf(error) };
    }
  },
};

expect.extend(crashMatchers);

import { writeSync } from "node:fs";
import type { SimulationResult } from "./simulation.js";

/** Lines of a trace that a failure shows when nobody asked for this seed alone. */
const traceLinesMax = 150;

/** What a failed seed says: what is wrong, how to see it again, and what happened before. */
export function describeFailure({ seed, violations, trace }: SimulationResult): string {
  const isAlone = process.env["SIM_SEED"] !== undefined;
  const shown = isAlone ? trace : trace.slice(-traceLinesMax);
  const hidden = trace.length - shown.length;
  return [
    `seed ${seed} (SIM_SEED=${seed} npx vitest run test/simulation shows all of it):`,
    ...violations.map((violation) => `  ${violation}`),
    ...(hidden > 0 ? [`  … ${hidden} lines before`] : []),
    ...shown,
  ].join("\n");
}

/** Sums of many simulations. */
export class Tally {
  readonly seen: Map<string, number> = new Map();
  #seeds = 0;
  #simulatedMs = 0;
  #events = 0;
  #crashes = 0;
  #steps = 0;

  /** Adds one. */
  add({ stats, seen }: SimulationResult): void {
    this.#seeds++;
    this.#simulatedMs += stats.simulatedMs;
    this.#events += stats.events;
    this.#crashes += stats.crashes;
    this.#steps += stats.steps;
    for (const [what, count] of seen) {
      this.seen.set(what, (this.seen.get(what) ?? 0) + count);
    }
  }

  /** Writes the sums, for people. */
  print(what: string): void {
    const hours = (this.#simulatedMs / 3_600_000).toFixed(1);
    writeSync(
      1,
      `${what}: ${this.#seeds} simulations, ${hours} simulated hours, ${this.#crashes} crashes of the kernel, ` +
        `${this.#events} events, ${this.#steps} steps\n`,
    );
  }
}

import { setTimeout as delay } from "node:timers/promises";
import type { Child, ChildEnd } from "./child.js";

/** A child that must run as long as the supervisor does. */
export interface KeptSpec {
  /** For people: `kernel`, `worker`, `tickets`. */
  readonly name: string;
  /** The field of the line on stdout by which it says that it is ready. */
  readonly readyField: string;
  /** Starts it; called anew after each end. May wait, but not past the signal. */
  start(signal: AbortSignal): Promise<Child> | Child;
  /** Called each time it has become ready. */
  onReady(said: Readonly<Record<string, unknown>>, child: Child): void;
  /** A sentence when starting it again cannot help, nothing when it may. */
  whyHopeless(end: ChildEnd): Promise<string | undefined> | string | undefined;
  /** Tells people. */
  say(text: string): void;
}

/** A child was given up. */
export class ChildHopeless extends Error {
  override readonly name = "ChildHopeless";
  readonly code = "PAWL_EXAMPLE_CHILD_HOPELESS";
}

const backoffMinMs = 100;
const backoffMaxMs = 5_000;
/** A child that lived this long was well; the next restart is quick again. */
const wellAfterMs = 10_000;
/** So many starts in a row without becoming ready are no accident. */
const unreadyMax = 6;
/** How long a child may take to end in order before it is killed. */
const endWithinMs = 12_000;

/** Starts a child, and starts it again with growing waits whenever it dies, until it is told to stop. */
export class KeptChild {
  readonly #spec: KeptSpec;
  readonly #stopping = new AbortController();
  readonly #kept: Promise<void>;
  #child: Child | undefined;

  constructor(spec: KeptSpec) {
    this.#spec = spec;
    this.#kept = this.#keep();
    // Whoever asks is told; that nobody asked yet is no reason to crash.
    this.#kept.catch(() => undefined);
  }

  /** Rejects with `ChildHopeless` when the child was given up; resolves when it was stopped. */
  get kept(): Promise<void> {
    return this.#kept;
  }

  /** Asks the child to end, and kills it when it takes longer than 12 s. Resolves when it is gone. Safe to call again. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#child?.askToEnd();
    const timer = setTimeout(() => this.kill(), endWithinMs);
    await this.#kept.catch(() => undefined);
    clearTimeout(timer);
  }

  /** Kills the child at once. Unless `stop` was called, it is started again. */
  kill(): void {
    this.#child?.kill("SIGKILL");
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stopping;
    let failures = 0;
    let unready = 0;
    while (!signal.aborted) {
      const startedAtMs = performance.now();
      const life = await this.#live(signal);
      if (signal.aborted || life === undefined) return;
      const { end, wasReady } = life;
      unready = wasReady ? 0 : unready + 1;
      failures = wasReady && performance.now() - startedAtMs > wellAfterMs ? 1 : failures + 1;
      await this.#refuseHopeless(end, unready);
      const waitMs = Math.min(backoffMinMs * 2 ** (failures - 1), backoffMaxMs);
      this.#spec.say(`ended ${describeEnd(end)}; it is started again`);
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** One life, from start to end; undefined when it was told to stop before it began. */
  async #live(
    signal: AbortSignal,
  ): Promise<{ readonly end: ChildEnd; readonly wasReady: boolean } | undefined> {
    const child = await startUnlessAborted(this.#spec, signal);
    if (child === undefined) return undefined;
    this.#child = child;
    // It may have been told to stop while it was being started.
    if (signal.aborted) child.askToEnd();
    const said = await child.says(this.#spec.readyField);
    if (said !== undefined && !signal.aborted) this.#spec.onReady(said, child);
    const end = await child.ended;
    this.#child = undefined;
    return { end, wasReady: said !== undefined };
  }

  async #refuseHopeless(end: ChildEnd, unready: number): Promise<void> {
    const why = await this.#spec.whyHopeless(end);
    if (why !== undefined) throw new ChildHopeless(why);
    if (unready < unreadyMax) return;
    throw new ChildHopeless(
      `Expected the ${this.#spec.name} to become ready, but it ended ${unready} times in a row, ` +
        `the last time ${describeEnd(end)}:\n${end.lastErrors.join("\n")}`,
    );
  }
}

async function startUnlessAborted(spec: KeptSpec, signal: AbortSignal): Promise<Child | undefined> {
  try {
    return await spec.start(signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

function describeEnd({ code, signal }: ChildEnd): string {
  return signal === null ? `with exit code ${code}` : `by ${signal}`;
}

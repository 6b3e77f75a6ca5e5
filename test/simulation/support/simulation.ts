import { isRunOpen } from "@pawl/server/core/transitions.js";
import { checkChildren } from "./check-children.js";
import { checkEffects } from "./check-effects.js";
import { checkEnds } from "./check-ends.js";
import { LogJudge } from "./check-log.js";
import { checkObligations } from "./check-obligations.js";
import { checkOutputs } from "./check-outputs.js";
import { checkSignals } from "./check-signals.js";
import { checkFinished, checkStates, checkStore, isAtRest } from "./check-states.js";
import { checkTold } from "./check-told.js";
import { checkUpdates } from "./check-updates.js";
import { checkWatch } from "./check-watch.js";
import { countSeen } from "./count-seen.js";
import { checkFunctions } from "./functions/check-functions.js";
import { checkLeft } from "./functions/check-left.js";
import { countFunctions } from "./functions/count-functions.js";
import { Prng } from "./prng.js";
import { buildRoom, type Room, type RoomOptions } from "./room.js";
import { Scheduler } from "./scheduler.js";

/** What came of a simulation. */
export interface SimulationResult {
  readonly seed: number;
  /** Everything that was wrong; empty when nothing was. */
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  readonly stats: SimulationStats;
  /** How often each kind of thing happened: what never does in any seed is not tested by it. */
  readonly seen: ReadonlyMap<string, number>;
}

/** Numbers of a simulation. */
export interface SimulationStats {
  readonly simulatedMs: number;
  readonly steps: number;
  readonly events: number;
  readonly storeCalls: number;
  readonly writes: number;
  readonly crashes: number;
  readonly effects: number;
}

/** After the faults have ended, everything must come to rest within this time. */
const restMs = 1_800_000;

/** Violations after which it is enough. */
const violationsMax = 20;

/** Runs one whole simulation and judges it. */
export async function simulate(options: RoomOptions): Promise<SimulationResult> {
  const violations: string[] = [];
  const trace: string[] = [];
  const scheduler = new Scheduler(new Prng(options.seed ^ 0x5eed));
  const stamp = (text: string): string => `${scheduler.nowMs.toFixed(1).padStart(10)}  ${text}`;
  const room = buildRoom(options, scheduler, {
    note: (text) => trace.push(stamp(text)),
    complain: (text) => {
      trace.push(stamp(`VIOLATION ${text}`));
      violations.push(text);
    },
  });
  const run = new SimulationRun(room, options, violations);
  await run.toRest();
  if (violations.length === 0) {
    await run.judge();
  }
  const seen = countSeen(room.shadow, room.witness);
  countFunctions(room.shadow, room.diaries, seen);
  return { seed: options.seed, violations, trace, stats: statsOf(room), seen };
}

class SimulationRun {
  readonly #room: Room;
  readonly #options: RoomOptions;
  readonly #violations: string[];

  constructor(room: Room, options: RoomOptions, violations: string[]) {
    this.#room = room;
    this.#options = options;
    this.#violations = violations;
  }

  /** Lets everything happen until nothing is left to be done, and ends the kernel in order. */
  async toRest(): Promise<void> {
    const {
      disk,
      host,
      client,
      workers,
      ledgerCallers,
      watcher,
      person,
      operator,
      founder,
      messenger,
      starter,
      director,
      chaos,
    } = this.#room;
    const { settings } = this.#options;
    await disk.create();
    host.start();
    for (const one of [client, watcher, ...workers, ...ledgerCallers]) {
      one.begin();
    }
    if (settings.load.hasPerson) {
      person.begin();
    }
    operator.begin();
    founder.begin();
    messenger.begin();
    starter.begin();
    director.begin();
    chaos.begin();
    const endMs = settings.chaosMs + restMs;
    const isDone = (): boolean => this.#isBroken || this.#isAtRest();
    if (!(await this.#room.scheduler.run(isDone, endMs))) {
      this.#violations.push(...this.#whyNotAtRest());
    }
  }

  /** Compares what is with what should be. */
  async judge(): Promise<void> {
    const { shadow, sinks, witness, watcher, host, disk, client, founder, messenger, diaries } =
      this.#room;
    const complain = (text: string): void => {
      this.#violations.push(text);
    };
    const { kernel } = host;
    if (kernel !== undefined) {
      await this.#finish("comparing states", checkStates(kernel, shadow, complain));
      await this.#finish("looking for namespaces", founder.check(kernel));
      checkLeft(kernel, shadow, complain);
    }
    host.stop();
    await this.#until("the end of the kernel", () => host.hasStopped);
    await checkStore(disk, complain);
    checkFinished(shadow, complain);
    const lasts = [...shadow.runs.values()].map(({ events }) => events.at(-1)?.atMs ?? 0);
    const endMs = Math.max(0, ...lasts);
    for (const run of shadow.runs.values()) {
      new LogJudge(run, complain).judge(endMs);
    }
    checkEffects(shadow, sinks, complain);
    checkTold(witness.told, shadow, complain);
    checkOutputs(shadow, complain);
    checkWatch(watcher, shadow, complain);
    checkSignals(shadow, complain);
    checkUpdates(shadow, messenger.answers, complain);
    checkObligations(shadow, complain);
    checkChildren(shadow, complain);
    checkEnds(client.ends, shadow, complain);
    checkFunctions(shadow, diaries, complain);
  }

  get #isBroken(): boolean {
    return this.#violations.length >= violationsMax;
  }

  async #finish(what: string, work: Promise<void>): Promise<void> {
    let isDone = false;
    work.then(
      () => {
        isDone = true;
      },
      (error: unknown) => {
        isDone = true;
        this.#violations.push(`${what} fails: ${String(error)}`);
      },
    );
    await this.#until(what, () => isDone);
  }

  async #until(what: string, isDone: () => boolean): Promise<void> {
    const { scheduler } = this.#room;
    if (!(await scheduler.run(isDone, scheduler.nowMs + 600_000))) {
      this.#violations.push(`${what} does not come`);
    }
  }

  #isAtRest(): boolean {
    const { chaos, host, client, starter, director } = this.#room;
    const { shadow, ledgerCallers, watcher, kernelProcess } = this.#room;
    const isAllSaid = client.isDone && starter.isDone && director.isDone;
    if (!chaos.isOver || host.kernel === undefined || kernelProcess.isFrozen || !isAllSaid) {
      return false;
    }
    for (const { state } of shadow.runs.values()) {
      if (!isAtRest(state)) {
        return false;
      }
    }
    const { hasPerson } = this.#options.settings.load;
    const isTold = client.started.every((runId) => {
      const run = shadow.find(runId);
      return run !== undefined && isRunOpen(run.state.status) ? !hasPerson : client.ends.has(runId);
    });
    return (
      isTold &&
      (!hasPerson || (this.#reviewsAreResolved() && ledgerCallers.every(({ isDone }) => isDone))) &&
      this.#hasSeenAll(watcher.seen.at(-1)?.sequence ?? 0)
    );
  }

  #reviewsAreResolved(): boolean {
    return [...this.#room.shadow.runs.values()].every(({ state }) =>
      state.reviews.every(({ resolvedAtMs }) => resolvedAtMs !== 0),
    );
  }

  #hasSeenAll(sequence: number): boolean {
    const { watcher, shadow } = this.#room;
    if (watcher.since === undefined) {
      return false;
    }
    return [...shadow.runs.values()].every(({ state, events }) => {
      const last = events.at(-1)?.sequence ?? 0;
      return state.kind !== "run" || last <= Math.max(sequence, watcher.since ?? 0);
    });
  }

  #whyNotAtRest(): string[] {
    const { client, shadow, ledgerCallers, watcher, host } = this.#room;
    const why = [`it is not at rest ${restMs} ms after the faults ended:`];
    why.push(`kernel ${host.kernel === undefined ? "away" : "there"}, started ${client.started}`);
    why.push(`ends ${[...client.ends.keys()]}, callers ${ledgerCallers.map((one) => one.isDone)}`);
    why.push(`watcher since ${watcher.since}, at ${watcher.seen.at(-1)?.sequence}`);
    for (const { number, state, events } of shadow.runs.values()) {
      const tasks = state.tasks.map(({ status }) => status);
      const operations = state.operations.map(({ status, callOpen }) => `${status}${callOpen}`);
      const reviews = state.reviews.map(({ resolvedAtMs }) => resolvedAtMs !== 0);
      const last = events.at(-1);
      why.push(
        `run ${number} ${state.runId} status ${state.status}, tasks ${tasks}, operations ${operations}, reviews ${reviews}, last ${last?.sequence} ${last?.body.case}`,
      );
    }
    return why;
  }
}

function statsOf({ scheduler, shadow, disk, host, sinks }: Room): SimulationStats {
  return {
    simulatedMs: scheduler.nowMs,
    steps: scheduler.steps,
    events: shadow.head.sequence,
    storeCalls: disk.calls,
    writes: disk.writes,
    crashes: host.crashes,
    effects: sinks.effects.length,
  };
}

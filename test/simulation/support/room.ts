import type { Store } from "@pawl/server/log/store.js";
import type { World } from "./caller.js";
import { Chaos } from "./chaos.js";
import { Client } from "./client.js";
import { Director, type Scene } from "./director.js";
import { type CrashWrite, SimDisk } from "./disk.js";
import { Founder } from "./founder.js";
import { requireSettled } from "./functions/check-rollbacks.js";
import { Diaries } from "./functions/diaries.js";
import { drawFunction, type FunctionWorkflow } from "./functions/program.js";
import { KernelHost } from "./kernel-host.js";
import { LedgerCaller } from "./ledger-caller.js";
import { Messenger } from "./messenger.js";
import { Network } from "./network.js";
import { Operator } from "./operator.js";
import { Person } from "./person.js";
import { childWorkflow, drawOperation, drawWorkflow, type Workflow } from "./plans.js";
import { Prng } from "./prng.js";
import { Process } from "./process.js";
import type { Scheduler } from "./scheduler.js";
import type { Settings } from "./settings.js";
import { ShadowLog } from "./shadow-log.js";
import { Sinks } from "./sinks.js";
import { Starter } from "./starter.js";
import { Watcher } from "./watcher.js";
import { Witness } from "./witness.js";
import { Worker } from "./worker.js";

/** Faults put in on purpose, to see them found. */
export interface Planted {
  /** Put between the store and the kernel. */
  readonly wrapStore?: (store: Store) => Store;
  /** Callers heed no deadline. */
  readonly ignoresDeadline?: boolean;
}

/** What a room is built from. */
export interface RoomOptions {
  readonly seed: number;
  readonly settings: Settings;
  /** One write at which the kernel dies. */
  readonly crashAt?: CrashWrite;
  readonly planted?: Planted;
  /** What is run in place of workflows that are drawn. */
  readonly workflows?: readonly Workflow[];
  /** What happens on purpose. */
  readonly scene?: Scene;
}

/** Who writes down what happens, and what is wrong. */
export interface Scribe {
  note(text: string): void;
  complain(text: string): void;
}

/** Everything in a simulation. */
export interface Room {
  readonly scheduler: Scheduler;
  readonly shadow: ShadowLog;
  readonly host: KernelHost;
  readonly kernelProcess: Process;
  readonly disk: SimDisk;
  readonly sinks: Sinks;
  readonly witness: Witness;
  readonly chaos: Chaos;
  readonly client: Client;
  readonly workers: readonly Worker[];
  readonly ledgerCallers: readonly LedgerCaller[];
  readonly watcher: Watcher;
  readonly person: Person;
  readonly operator: Operator;
  readonly founder: Founder;
  readonly messenger: Messenger;
  readonly starter: Starter;
  readonly director: Director;
  readonly diaries: Diaries;
}

/** Builds a machine room: kernel, disk, network, workers, callers, sinks, a person, and those who judge. Nothing runs yet. */
export function buildRoom(options: RoomOptions, scheduler: Scheduler, scribe: Scribe): Room {
  const { seed, settings } = options;
  const prng = new Prng(seed);
  const machine = buildMachine(options, { scheduler, scribe, prng });
  const { host, witness, disk, sinks, kernelProcess } = machine;
  const { note, complain } = scribe;
  const network = new Network(scheduler, prng.fork(), { settings: settings.network, note });
  const world: World = {
    ...{ host, network, witness, complain, note },
    prng: prng.fork(),
    nowMs: () => scheduler.nowMs,
  };
  const people = buildPeople(options, { world, sinks, scheduler, prng });
  const chaos = new Chaos({
    ...{ scheduler, settings, host, kernelProcess, disk, network, sinks, note },
    victims: [...people.workers, ...people.ledgerCallers],
    prng: prng.fork(),
  });
  const operator = new Operator({
    ...{ world, process: new Process(scheduler, "operator"), prng: prng.fork() },
    pauseEveryMs: settings.load.runPauseEveryMs,
    runIds: () => people.client.started,
    isOver: () => chaos.isOver,
  });
  const founder = new Founder({
    ...{ world, process: new Process(scheduler, "founder"), prng: prng.fork() },
    isOver: () => chaos.isOver,
  });
  const messenger = new Messenger({
    ...{ world, process: new Process(scheduler, "messenger"), prng: new Prng(seed ^ 0x6e55) },
    everyMs: settings.load.messageEveryMs,
    runIds: () => people.client.started,
  });
  const starter = new Starter({
    ...{ world, process: new Process(scheduler, "starter"), prng: new Prng(seed ^ 0x57a7) },
    ...{ count: settings.load.restarts, everyMs: settings.load.restartEveryMs },
    orders: () => [...people.client.orders.values()],
  });
  const director = new Director({
    ...{ world, process: new Process(scheduler, "director"), scene: options.scene },
    find: (runId) => machine.shadow.find(runId)?.state,
    order: (runId) => people.client.orders.get(runId),
  });
  const callers = { operator, founder, messenger, starter, director };
  return { scheduler, chaos, ...callers, ...machine, ...people };
}

interface Basics {
  readonly scheduler: Scheduler;
  readonly scribe: Scribe;
  readonly prng: Prng;
}

type Machine = Pick<Room, "shadow" | "host" | "kernelProcess" | "disk" | "sinks" | "witness">;

function buildMachine(options: RoomOptions, { scheduler, scribe, prng }: Basics): Machine {
  const { settings, planted = {} } = options;
  const { note, complain } = scribe;
  const shadow = new ShadowLog(complain);
  const kernelProcess = new Process(scheduler, "kernel");
  const host: KernelHost = new KernelHost({
    ...{ scheduler, note, complain, process: kernelProcess },
    prng: prng.fork(),
    settings: settings.kernel,
    disk: () => disk,
  });
  const disk = new SimDisk({
    ...{ note, process: kernelProcess, shadow, crashAt: options.crashAt },
    prng: prng.fork(),
    settings: settings.kernel,
    crash: (why, isPowerCut) => host.crash(why, isPowerCut),
    wrap: planted.wrapStore ?? ((store) => store),
  });
  const sinks = new Sinks(scheduler, prng.fork(), { settings: settings.sink, note });
  requireIntents(shadow, sinks, complain);
  const witness = new Witness(shadow, complain, () => scheduler.nowMs);
  return { shadow, host, kernelProcess, disk, sinks, witness };
}

/** A sink may be called only when the intent of exactly that call is durable. */
function requireIntents(shadow: ShadowLog, sinks: Sinks, complain: Scribe["complain"]): void {
  const intents = new Set<string>();
  shadow.onEvent = (run, event) => {
    const { state } = run;
    const { body } = event;
    requireSettled(run, event, complain);
    if (body.case === "operationIntended") {
      const key = state.operations[body.value.operation]?.declaration.key;
      intents.add(`${key} ${body.value.intentId}`);
    }
  };
  sinks.onCall = ({ key, intentId }) => {
    if (!intents.has(`${key} ${intentId}`)) {
      complain(`the sink of ${key} is called with ${intentId}, but that intent is not durable`);
    }
  };
}

interface PeopleBasics {
  readonly world: World;
  readonly sinks: Sinks;
  readonly scheduler: Scheduler;
  readonly prng: Prng;
}

type People = Pick<Room, "client" | "workers" | "ledgerCallers" | "watcher" | "person" | "diaries">;

function buildPeople(
  { seed, settings, planted = {}, workflows: given }: RoomOptions,
  { world, sinks, scheduler, prng }: PeopleBasics,
): People {
  const processOf = (name: string): Process => new Process(scheduler, name);
  const waits = new Prng(seed ^ 0x77a1);
  const tells = new Prng(seed ^ 0x7e77);
  const joins = new Prng(seed ^ 0x4a01);
  const drawn = ["a", "b"].map((name) =>
    drawWorkflow(name, prng.fork(), { settings, waits, tells, joins }),
  );
  const functions = drawFunctions(seed, settings);
  const workflows = given ?? [...drawn, ...functions];
  const diaries = new Diaries(world.complain);
  // Only workers know what children run: nobody else starts it.
  const served = settings.load.tellShare === 0 ? workflows : [...workflows, childWorkflow];
  const shared = {
    ...{ world, sinks, settleOf: settleOf(settings) },
    ignoresDeadline: planted.ignoresDeadline ?? false,
    diaries,
    functions: new Map(functions.flatMap((one) => [...one.functions])),
  };
  const work = Array.from({ length: settings.load.ledgerKeys }, (_none, index) => ({
    key: `invoice-${index}`,
    operation: drawOperation(`pay${index}`, prng, settings, false),
  }));
  return {
    client: new Client({ world, process: processOf("client") }, settings.load, workflows),
    workers: Array.from({ length: settings.worker.workers }, (_none, index) => {
      const process = processOf(`worker-${index}`);
      const { stepBytes } = settings.load;
      return new Worker({
        ...shared,
        workflows: served,
        stepBytes,
        process,
        settings: settings.worker,
      });
    }),
    ledgerCallers: Array.from(
      { length: settings.load.ledgerCallers },
      (_none, index) => new LedgerCaller({ ...shared, work, process: processOf(`cron-${index}`) }),
    ),
    watcher: new Watcher({ world, process: processOf("watcher") }),
    person: new Person({ world, process: processOf("person"), sinks }),
    diaries,
  };
}

/** Drawn apart, so that a room without them is as it was. */
function drawFunctions(seed: number, settings: Settings): readonly FunctionWorkflow[] {
  const prng = new Prng(seed ^ 0xf17c);
  return Array.from({ length: settings.load.functions }, (_none, index) =>
    drawFunction({ name: `f${index}`, prng: prng.fork(), settings }),
  );
}

/**
 * How late after its deadline a call really takes effect at most. A kernel whose wall clock jumps counts `call_by` up to a thousandth faster than
 * the caller does, so there the settle time must cover that too.
 */
function settleOf({ kernel }: Settings): (settleMs: number, callTimeoutMs: number) => number {
  return (settleMs, callTimeoutMs) =>
    kernel.wallJumps
      ? Math.max(0, settleMs - 2 - 0.002 * (callTimeoutMs + settleMs))
      : settleMs - 1;
}

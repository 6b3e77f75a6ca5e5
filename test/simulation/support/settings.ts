import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import type { CheckpointOptions } from "@pawl/server/kernel/storage/checkpointer.js";
import { Prng } from "./prng.js";

/** How often messages are lost, doubled, late or out of order. */
export interface NetworkSettings {
  readonly dropShare: number;
  readonly doubleShare: number;
  /** Share of messages that take seconds instead of ms. */
  readonly lateShare: number;
  readonly lateMs: number;
  readonly delayMs: number;
  /** True: messages of one connection keep their order, as over TCP. */
  readonly keepsOrder: boolean;
}

/** What the kernel's disk and process do. */
export interface KernelSettings {
  /** Mean length of a sync. */
  readonly syncMs: number;
  /** Share of syncs that stall. */
  readonly stallShare: number;
  /** Share of store calls at which the process dies, before or after. */
  readonly crashAtCallShare: number;
  /** Share of store calls that end in an error, or in an error although they took effect. */
  readonly faultShare: number;
  /** Mean time between crashes at any moment; 0: none. */
  readonly crashEveryMs: number;
  /** Mean time between orderly restarts; 0: none. */
  readonly restartEveryMs: number;
  /** Mean time between pauses of the whole process; 0: none. */
  readonly pauseEveryMs: number;
  readonly pauseMs: number;
  /** Mean time between times in which the disk is nearly full; 0: none. */
  readonly fillEveryMs: number;
  /** True: the wall clock jumps now and then. */
  readonly wallJumps: boolean;
  readonly checkpoint: CheckpointOptions;
}

/** What workers and callers do. */
export interface WorkerSettings {
  readonly workers: number;
  readonly slots: number;
  /** Mean time between crashes of one; 0: none. */
  readonly crashEveryMs: number;
  /** Mean time between freezes of one; 0: none. */
  readonly freezeEveryMs: number;
  readonly freezeMs: number;
  /** Mean time between times in which one is cut off; 0: none. */
  readonly cutEveryMs: number;
  readonly cutMs: number;
  /** Share of attempts that fail by themselves. */
  readonly failShare: number;
  /** True: an attempt goes on although it knows that its lease is lost, up to its next effect. */
  readonly isStubborn: boolean;
  /** Share of messages that go by unary calls although the stream is there. */
  readonly unaryShare: number;
}

/** What the outside systems do. */
export interface SinkSettings {
  /** Share of calls lost on the way there, and of answers lost on the way back. */
  readonly lostShare: number;
  /** Share of calls that provably never leave. */
  readonly notSentShare: number;
  /** Share of keys that the sink refuses. */
  readonly refusedShare: number;
  /** Share of look-ups that cannot tell. */
  readonly unsureShare: number;
  /** Mean time of a call. */
  readonly callMs: number;
}

/** What is asked for. */
export interface LoadSettings {
  readonly runs: number;
  readonly tasksMax: number;
  /** Length of a step's value: large ones spread a run over many rows. */
  readonly stepBytes: number;
  /** What sinks there are. */
  readonly sinkKinds: readonly SinkKind[];
  /** Callers of operations in scope NAMESPACE. */
  readonly ledgerCallers: number;
  readonly ledgerKeys: number;
  /** Share of runs that are cancelled, and of runs that are terminated. */
  readonly cancelShare: number;
  readonly terminateShare: number;
  /** True: a person resolves reviews. Otherwise they stay. */
  readonly hasPerson: boolean;
  /** Mean time between two looks of an operator who pauses and resumes runs. 0: there is none. */
  readonly runPauseEveryMs: number;
  /** Share of what tasks do that they wait at, without their lease. */
  readonly waitShare: number;
  /** Share of what tasks do beside which they tell another run something. */
  readonly tellShare: number;
  /** Share of the tasks that need others which wait for some of them alone, or go on over their failures. */
  readonly joinShare: number;
  /** Mean time between two messages to runs. 0: none. */
  readonly messageEveryMs: number;
  /** How many starts, by every policy, runs get that exist; and the mean time between two of them. */
  readonly restarts: number;
  readonly restartEveryMs: number;
  /** Share of the workflows of one task that continue their runs as new, twice. */
  readonly continueShare: number;
  /** How many workflows there are that are functions. */
  readonly functions: number;
  /** How long runs may take. 0: for ever. */
  readonly runTimeoutMs: number;
}

/** Everything that one seed draws before it begins ("swarm testing", Groce et al., ISSTA 2012: each seed leaves some faults out). */
export interface Settings {
  /** Faults end after this time. */
  readonly chaosMs: number;
  readonly network: NetworkSettings;
  readonly kernel: KernelSettings;
  readonly worker: WorkerSettings;
  readonly sink: SinkSettings;
  readonly load: LoadSettings;
}

const allKinds: readonly SinkKind[] = [SinkKind.IDEMPOTENT, SinkKind.RECONCILABLE, SinkKind.OPAQUE];

function drawPlain(seed: number): Settings {
  const prng = new Prng(seed).fork();
  const some = (share: number, value: number): number => (prng.chance(share) ? value : 0);
  const isCalm = prng.chance(0.1);
  const unless = (value: number): number => (isCalm ? 0 : value);
  return {
    chaosMs: prng.between(20_000, 90_000),
    network: {
      dropShare: unless(some(0.7, prng.fraction() * 0.15)),
      doubleShare: unless(some(0.6, prng.fraction() * 0.2)),
      lateShare: unless(some(0.6, prng.fraction() * 0.1)),
      lateMs: prng.pick([500, 5_000, 20_000]),
      delayMs: prng.pick([1, 5, 30]),
      keepsOrder: prng.chance(0.5),
    },
    kernel: drawKernel(prng, unless, some),
    worker: {
      workers: prng.between(1, 4),
      slots: prng.between(1, 4),
      crashEveryMs: unless(some(0.6, prng.between(5_000, 40_000))),
      freezeEveryMs: unless(some(0.6, prng.between(5_000, 40_000))),
      freezeMs: prng.pick([500, 5_000, 20_000]),
      cutEveryMs: unless(some(0.5, prng.between(5_000, 40_000))),
      cutMs: prng.pick([1_000, 8_000, 25_000]),
      failShare: unless(some(0.5, prng.fraction() * 0.2)),
      isStubborn: prng.chance(0.3),
      unaryShare: prng.pick([0, 0.2, 1]),
    },
    sink: {
      lostShare: unless(some(0.7, prng.fraction() * 0.3)),
      notSentShare: unless(some(0.5, prng.fraction() * 0.2)),
      refusedShare: some(0.3, 0.1),
      unsureShare: unless(some(0.5, prng.fraction() * 0.5)),
      callMs: prng.pick([5, 200, 2_000]),
    },
    load: {
      runs: prng.between(2, 6),
      tasksMax: prng.between(1, 5),
      stepBytes: prng.pick([0, 0, 3_000]),
      sinkKinds: allKinds,
      ledgerCallers: prng.pick([0, 1, 2, 3]),
      ledgerKeys: prng.between(1, 3),
      cancelShare: some(0.3, 0.3),
      terminateShare: some(0.3, 0.2),
      hasPerson: prng.chance(0.8),
      runPauseEveryMs: some(0.5, prng.between(1_000, 8_000)),
      ...drawWaiting(seed),
      ...drawRestarts(seed),
      tellShare: drawTelling(seed),
      joinShare: drawJoins(seed),
      ...drawLives(seed),
      functions: 0,
    },
  };
}

/** Drawn apart: what a seed draws, now and then with functions beside. Where nobody resolves reviews there are none, since they wait for what they called. */
export function drawSettings(seed: number): Settings {
  const drawn = drawPlain(seed);
  const prng = new Prng(seed ^ 0xf0c5);
  if (!drawn.load.hasPerson || prng.chance(0.5)) return drawn;
  // Records that take several pages to read are large.
  const stepBytes = prng.chance(0.2) ? 140_000 : drawn.load.stepBytes;
  const messageEveryMs = drawn.load.messageEveryMs || prng.pick([0, 500, 4_000]);
  const functions = prng.between(1, 3);
  return { ...drawn, load: { ...drawn.load, functions, stepBytes, messageEveryMs } };
}

/** Drawn apart, so that seeds draw everything else as they did before. */
function drawWaiting(seed: number): Pick<LoadSettings, "waitShare" | "messageEveryMs"> {
  const prng = new Prng(seed ^ 0x3a17);
  if (prng.chance(0.7)) return { waitShare: 0, messageEveryMs: 0 };
  return { waitShare: prng.fraction() * 0.7, messageEveryMs: prng.pick([500, 4_000]) };
}

/** Drawn apart, too. */
function drawTelling(seed: number): number {
  const prng = new Prng(seed ^ 0x7e11);
  return prng.chance(0.6) ? 0 : prng.fraction() * 0.6;
}

/** Drawn apart, so that seeds without joins go as they went before. */
function drawJoins(seed: number): number {
  const prng = new Prng(seed ^ 0x10b5);
  return prng.chance(0.7) ? 0 : prng.fraction();
}

/** Drawn apart like those. */
function drawLives(seed: number): Pick<LoadSettings, "continueShare" | "runTimeoutMs"> {
  const prng = new Prng(seed ^ 0x11fe);
  const continueShare = prng.chance(0.5) ? 0 : 0.8;
  return { continueShare, runTimeoutMs: prng.chance(0.8) ? 0 : prng.between(5_000, 120_000) };
}

/** Drawn apart as well. */
function drawRestarts(seed: number): Pick<LoadSettings, "restarts" | "restartEveryMs"> {
  const prng = new Prng(seed ^ 0x2e57);
  const restarts = prng.chance(0.6) ? 0 : prng.between(1, 20);
  return { restarts, restartEveryMs: prng.pick([500, 3_000, 8_000]) };
}

function drawKernel(
  prng: Prng,
  unless: (value: number) => number,
  some: (share: number, value: number) => number,
): KernelSettings {
  return {
    syncMs: prng.pick([0, 2, 20]),
    stallShare: unless(some(0.3, 0.05)),
    crashAtCallShare: unless(some(0.6, prng.fraction() * 0.03)),
    faultShare: unless(some(0.4, prng.fraction() * 0.01)),
    crashEveryMs: unless(some(0.6, prng.between(2_000, 30_000))),
    restartEveryMs: unless(some(0.3, prng.between(5_000, 40_000))),
    pauseEveryMs: unless(some(0.4, prng.between(5_000, 40_000))),
    pauseMs: prng.pick([300, 6_000, 35_000]),
    fillEveryMs: unless(some(0.2, 20_000)),
    wallJumps: prng.chance(0.3),
    checkpoint: prng.pick<CheckpointOptions>([
      {},
      { beginBytes: 0, residentsMax: 1 },
      { beginAgeMs: 20, residentsMax: 3, logRetentionBytes: 0, logRetentionMs: 0 },
      { beginAgeMs: 3_000 },
      { beginAgeMs: 600_000 },
    ]),
  };
}

/**
 * A room in which callers freeze all the time around calls whose outcome is unknown: where late callers and old findings do harm.
 * @param callMs mean time that the sinks take.
 */
export function drawFreezing(seed: number, callMs: number): Settings {
  const drawn = drawSettings(seed);
  return {
    ...drawn,
    kernel: { ...drawn.kernel, wallJumps: false },
    worker: {
      ...drawn.worker,
      ...{ workers: 3, freezeEveryMs: 2_500, freezeMs: 6_000, isStubborn: true },
    },
    sink: { ...drawn.sink, lostShare: 0.3, notSentShare: 0, refusedShare: 0, callMs },
    load: {
      ...drawn.load,
      ...{ runs: 1, tasksMax: 1, ledgerCallers: 4, ledgerKeys: 6 },
      sinkKinds: [SinkKind.RECONCILABLE],
    },
  };
}

/** A room in which nothing goes wrong by itself: for crashes at chosen points. Rows are written and the log is trimmed all the time. */
export const quietSettings: Settings = {
  chaosMs: 1,
  network: {
    ...{ dropShare: 0, doubleShare: 0, lateShare: 0, lateMs: 0 },
    delayMs: 5,
    keepsOrder: true,
  },
  kernel: {
    ...{ syncMs: 2, stallShare: 0, crashAtCallShare: 0, faultShare: 0, crashEveryMs: 0 },
    ...{ restartEveryMs: 0, pauseEveryMs: 0, pauseMs: 0, fillEveryMs: 0, wallJumps: false },
    checkpoint: { beginAgeMs: 20, residentsMax: 1, logRetentionBytes: 0, logRetentionMs: 0 },
  },
  worker: {
    ...{ workers: 2, slots: 2, crashEveryMs: 0, freezeEveryMs: 0, freezeMs: 0 },
    ...{ cutEveryMs: 0, cutMs: 0, failShare: 0.05, isStubborn: false, unaryShare: 0.2 },
  },
  sink: { lostShare: 0, notSentShare: 0, refusedShare: 0, unsureShare: 0, callMs: 50 },
  load: {
    ...{ runs: 2, tasksMax: 3, stepBytes: 0, ledgerCallers: 1, ledgerKeys: 1 },
    sinkKinds: allKinds,
    ...{ cancelShare: 0, terminateShare: 0, hasPerson: true, runPauseEveryMs: 0 },
    ...{
      waitShare: 0.3,
      tellShare: 0.2,
      joinShare: 0,
      messageEveryMs: 2_000,
      restarts: 3,
      restartEveryMs: 3_000,
      continueShare: 0,
      functions: 0,
      runTimeoutMs: 0,
    },
  },
};

/** A room in which every run is one of a function, and messages come all the time. */
export function drawFunctions(seed: number): Settings {
  const drawn = drawPlain(seed);
  const load = { ...drawn.load, hasPerson: true, functions: 8, messageEveryMs: 300 };
  return { ...drawn, load };
}

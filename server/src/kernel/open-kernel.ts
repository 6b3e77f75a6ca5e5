import type { Rejection } from "../core/rejection.js";
import type { Fence, Store } from "../log/store.js";
import { type Log, silentLog } from "../observe/log.js";
import { type Meter, noMeter } from "../observe/meter.js";
import { Committer } from "./committer.js";
import { type DiskOptions, DiskWatch } from "./disk-watch.js";
import { FailStopStore } from "./fail-stop-store.js";
import type { Fault } from "./fault-log.js";
import { Hold } from "./hold.js";
import { Kernel } from "./kernel.js";
import { KernelClock } from "./kernel-clock.js";
import { KernelLog } from "./kernel-log.js";
import type { KernelParts } from "./kernel-parts.js";
import { Loop } from "./loop.js";
import { nodeClock, nodeRandom, nodeTimers } from "./node-ports.js";
import { PlanCache } from "./plan-cache.js";
import type { Clock, Random, Timers } from "./ports.js";
import { PositionCodec } from "./position.js";
import { PositionJudge } from "./position-judge.js";
import { recordStart } from "./record-start.js";
import { Residency } from "./residency.js";
import type { Resident } from "./resident.js";
import { Sessions } from "./sessions.js";
import { finishEpoch } from "./storage/begin-epoch.js";
import { Blobs } from "./storage/blobs.js";
import { Checkpointer, type CheckpointOptions } from "./storage/checkpointer.js";
import { closedRows } from "./storage/closed-row.js";
import { type CompactOptions, Compactor } from "./storage/compactor.js";
import { keptThrough, readEpochs } from "./storage/epochs.js";
import { HistoryReader } from "./storage/history-reader.js";
import { Lists } from "./storage/lists.js";
import { keepLogRetention, type LogRetention } from "./storage/log-retention.js";
import { type Recovery, recover } from "./storage/recovery.js";
import { RetentionKeeper } from "./storage/retention-keeper.js";
import { RetentionWalk } from "./storage/retention-walk.js";
import { StoredRuns } from "./storage/run-reader.js";
import { Scrubber, type ScrubOptions } from "./storage/scrubber.js";
import { storeRunNumber } from "./storage/seals.js";
import { SetAside } from "./storage/set-aside.js";
import { type FoundOpen, StartUp, type StartUpParts } from "./storage/start-up.js";
import { Sweeper, type SweepOptions } from "./storage/sweeper.js";
import { readWatched, type WatchedLogParts } from "./storage/watched-log.js";
import { Tombstones } from "./tombstones.js";
import { WatchHub } from "./watch-hub.js";

/** How to open a kernel. Everything but the store has a default: this machine's clock, timers and randomness. */
export interface OpenKernelOptions {
  /** An open store; the kernel closes it. */
  readonly store: Store;
  /** 1 to 64 bytes that the store keeps: the MACs of positions are made with it. */
  readonly secret: Uint8Array;
  /** Version of the kernel, for the record of its start. Default `unknown`. */
  readonly version?: string;
  /** Default 0. */
  readonly partition?: number;
  readonly clock?: Clock;
  readonly timers?: Timers;
  /** Timers of what a kernel does for itself: looking for free space, sweeping, scrubbing. Default: `timers`. */
  readonly housekeeping?: Timers;
  readonly random?: Random;
  readonly checkpoint?: CheckpointOptions;
  /** Changes how much of the log the store keeps, durably. Default: it stays as it is (256 MiB and 7 days, when nobody ever said). */
  readonly logRetention?: Partial<LogRetention>;
  readonly compact?: CompactOptions;
  readonly scrub?: ScrubOptions;
  readonly disk?: DiskOptions;
  /** How deleted runs are removed. */
  readonly sweep?: SweepOptions;
  /** Told of faults of the kernel's own code; default: the log alone. */
  readonly onFault?: (fault: Fault) => void;
  /** Default: silent. */
  readonly log?: Log;
  /** Default: counts nothing. */
  readonly meter?: Meter;
}

/**
 * Opens a kernel on a store: reads the horizon and the tail of the log, and serves at once; what is open is paged in meanwhile.
 * @throws StoreDamaged when the log does not hold together; StoreFailed when the disk does not answer.
 */
export async function openKernel(options: OpenKernelOptions): Promise<Kernel> {
  const { partition = 0, timers = nodeTimers, clock = nodeClock, housekeeping = timers } = options;
  const store = new FailStopStore(options.store);
  const log = new KernelLog(options.log ?? silentLog, clock);
  const recovery = await finishEpoch(store, await recover(store, partition));
  const { versions, retentions } = recovery;
  const { storeId, epoch } = recovery.meta.identity;
  const fence: Fence = { epoch };
  const plans = new PlanCache();
  const runs = new StoredRuns({ store, partition, tail: recovery.tail, plans: plans.recorded });
  const residency = new Residency(runs);
  const positions = codecOf({ ...options, store }, recovery);
  const committer = new Committer(store, fence, recovery.head);
  const fail = (error: unknown): void => loop.fail(error);
  const disk = diskOf({ store, timers: housekeeping, onError: fail }, options);
  const admit = (): Rejection | undefined => disk.refuseNew();
  const setAside = new SetAside({ store, fence, partition });
  const retention = await keepLogRetention(store, { partition, fence }, options.logRetention ?? {});
  const compactor = compactorOf({ store, fence, timers: housekeeping }, options, fail);
  const tombstones = tombstonesOf(store, recovery, () => loop.clock.now());
  const checkpointer = checkpointerOf(options, {
    ...{ store, fence, recovery, residency, timers, setAside, retention, compactor, housekeeping },
    tombstones,
  });
  let watchHub: WatchHub | undefined;
  let kernel: Kernel | undefined;
  const loop = new Loop(
    {
      ...{ timers, residency, committer, positions, plans },
      clock: new KernelClock(clock, recovery.lastRecordedMs),
      observe: { clock, meter: options.meter ?? noMeter },
      ...{ random: options.random ?? nodeRandom, nextRunNumber: recovery.nextRunNumber, admit },
      ...{ currentVersion: versions.current, retentionOf: retentions.of, tombstones },
      isLagging: () => checkpointer.isLagging(),
    },
    {
      unsaved: (residents, bytes) => checkpointer.unsaved(residents, bytes),
      durable: (turn) => {
        log.durable(turn);
        watchHub?.durable(turn, committer.pendingHead);
        checkpointer.durable(turn);
      },
      failed: (error) => {
        log.failed(error);
        checkpointer.failed(error);
        kernel?.notifyFailed(error);
      },
    },
  );
  tellFaults(loop, store, log, options.onFault);
  checkpointer.attach(loop, () => committer.pendingHead);
  const hold = new Hold({ store, fence, partition, loop });
  const history = historyOf({ store, partition, residency, runs }, loop);
  const startUp = startUpOf(options, {
    ...{ store, recovery, runs, loop, checkpointer, timers, setAside },
  });
  const ready = startUp.begin();
  ready.catch(fail);
  log.timeBegins(loop.clock.now(), recovery.lastRecordedMs);
  log.opened({ storeId, epoch, sequence: recovery.head.sequence }, ready);
  watchHub = watchHubOf({ store, partition, loop, history }, positions);
  await disk.start();
  kernel = new Kernel({
    ...{ store, partition, storeId, loop, hold, checkpointer, history, disk, timers, startUp },
    ...{ compactor, watchHub, setAside, storeEpoch: epoch, openWorkKnown: ready },
    scrubber: scrubberOf({ ...options, store }, loop, ready),
    keeper: keeperOf(options, { store, loop, checkpointer, compactor, recovery, runs, ready }),
    sessions: new Sessions(loop, versions.current),
    positions: judgeOf({ positions, store, partition, hold }, loop),
    lists: listsOf({ store, partition, residency, runs, ready }, loop, checkpointer),
    blobs: new Blobs({ store, fence, partition, loop, timers: housekeeping, ready, admit }),
    ...storeStateOf(recovery),
    markClosed: () => store.putRows(closedRows(partition, committer.pendingHead), fence),
  });
  return kernel;
}

/** What is known of the store itself. */
function storeStateOf({
  namespaces,
  versions,
  retentions,
  credentialPolicies,
  storeRun,
  starts,
}: Recovery): Pick<
  KernelParts,
  "namespaces" | "versions" | "retentions" | "credentialPolicies" | "storeRun" | "starts"
> {
  return { namespaces, versions, retentions, credentialPolicies, storeRun, starts };
}

/** What has deleted runs removed, and what is due deleted; it begins when all that is open is known. */
function keeperOf(options: OpenKernelOptions, parts: KeeperOf): RetentionKeeper {
  const { partition = 0, sweep } = options;
  const { store, loop, checkpointer, compactor, recovery, runs, ready } = parts;
  const timers = options.housekeeping ?? options.timers ?? nodeTimers;
  const { storeRun, retentions, meta } = recovery;
  const sweeper = new Sweeper({
    ...{ store, partition, timers, loop, storeRun, compactor },
    fence: { epoch: meta.identity.epoch },
    horizonSequence: () => checkpointer.horizon.sequence,
    ...(sweep === undefined ? {} : { options: sweep }),
  });
  const isLagging = (): boolean => checkpointer.isLagging();
  const walk = new RetentionWalk({
    ...{ store, partition, loop, runs, retentions, sweeper, isLagging },
  });
  const keeper = new RetentionKeeper({ loop, timers, sweeper, walk });
  checkpointer.onBuried = () => keeper.sweepSoon();
  void ready.then(
    () => keeper.start(),
    () => {
      // What failed has failed the store, and `onFailed` tells it.
    },
  );
  return keeper;
}

function tombstonesOf(store: Store, recovery: Recovery, now: () => number): Tombstones {
  const { partition, areTombstones } = recovery;
  return new Tombstones({ store, partition, areAny: areTombstones, now });
}

/** What a keeper is made with. */
interface KeeperOf {
  readonly store: Store;
  readonly loop: Loop;
  readonly checkpointer: Checkpointer;
  readonly compactor: Compactor;
  readonly recovery: Recovery;
  readonly runs: StoredRuns;
  readonly ready: Promise<void>;
}

function diskOf(
  parts: Omit<ConstructorParameters<typeof DiskWatch>[0], "options">,
  { disk }: OpenKernelOptions,
): DiskWatch {
  return new DiskWatch({ ...parts, ...(disk === undefined ? {} : { options: disk }) });
}

function checkpointerOf(
  { checkpoint }: OpenKernelOptions,
  parts: Omit<ConstructorParameters<typeof Checkpointer>[0], "options">,
): Checkpointer {
  return new Checkpointer({
    ...parts,
    ...(checkpoint === undefined ? {} : { options: checkpoint }),
  });
}

function historyOf(
  parts: Omit<ConstructorParameters<typeof HistoryReader>[0], "durableSequence">,
  loop: Loop,
): HistoryReader {
  return new HistoryReader({ ...parts, durableSequence: () => loop.durableSequence });
}

function listsOf(
  parts: Omit<ConstructorParameters<typeof Lists>[0], "unsaved">,
  loop: Loop,
  checkpointer: Checkpointer,
): Lists {
  return new Lists({ ...parts, unsaved: () => unsavedRuns(loop, checkpointer) });
}

function startUpOf({ version }: OpenKernelOptions, parts: StartUpParts): StartUp {
  const { loop, recovery } = parts;
  const openedAtMs = loop.clock.now();
  const counted = (found: FoundOpen): void =>
    recordStart(loop, recovery, { ...found, openedAtMs, version });
  return new StartUp({ ...parts, counted });
}

function compactorOf(
  parts: Omit<ConstructorParameters<typeof Compactor>[0], "fail" | "options">,
  { compact }: OpenKernelOptions,
  fail: (error: unknown) => void,
): Compactor {
  return new Compactor({ ...parts, fail, ...(compact === undefined ? {} : { options: compact }) });
}

function judgeOf(
  parts: Omit<ConstructorParameters<typeof PositionJudge>[0], "head">,
  loop: Loop,
): PositionJudge {
  return new PositionJudge({ ...parts, head: () => loop.durableHead });
}

function tellFaults(
  loop: Loop,
  store: FailStopStore,
  log: KernelLog,
  onFault?: (fault: Fault) => void,
): void {
  store.onFailed = (error) => loop.fail(error);
  loop.faults.onFault = (fault) => {
    log.fault(fault, loop.residency.resident(fault.runNumber)?.run);
    onFault?.(fault);
  };
}

function codecOf(
  { store, secret }: OpenKernelOptions,
  { meta, partition }: Recovery,
): PositionCodec {
  const { storeId, epoch } = meta.identity;
  const epochs = readEpochs(store, partition);
  return new PositionCodec({
    ...{ storeId, epoch, partition, secret },
    keptThrough: (earlier) => keptThrough(epochs, earlier),
  });
}

/** Every run in memory with something that is in no rows: handed to the store, or gathered just now. */
export function* unsavedRuns(
  loop: Loop,
  checkpointer: Checkpointer,
): Generator<Resident, void, undefined> {
  yield* loop.gathering;
  yield* checkpointer.unsavedRuns();
}

/** The scrubber, which begins when all that is open is known. */
function scrubberOf(options: OpenKernelOptions, loop: Loop, ready: Promise<void>): Scrubber {
  const { store, partition = 0, scrub } = options;
  const timers = options.housekeeping ?? options.timers ?? nodeTimers;
  const scrubber = new Scrubber({
    ...{ store, partition, timers },
    now: () => loop.clock.now(),
    durableSequence: () => loop.durableSequence,
    isGone: (runNumber) => loop.residency.isGone(runNumber),
    found: ({ runNumber }, error) => {
      loop.faults.record(runNumber, "scrub", error);
      if (runNumber !== storeRunNumber) {
        loop.residency.setAside(runNumber, error);
      }
    },
    ...(scrub === undefined ? {} : { options: scrub }),
  });
  void ready.then(
    () => scrubber.start(),
    () => {
      // What failed has failed the store, and `onFailed` tells it.
    },
  );
  return scrubber;
}

function watchHubOf(parts: WatchedLogParts, positions: PositionCodec): WatchHub {
  const { loop } = parts;
  return new WatchHub({
    positions,
    names: parts.history.names,
    head: () => loop.durableHead,
    catchUp: (filter, after, through) => readWatched(parts, { filter, after, through }),
    isClosed: (runNumber) => loop.isClosed(runNumber),
  });
}

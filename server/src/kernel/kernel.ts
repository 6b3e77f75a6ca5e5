import type { Caller, StandingOf } from "../core/caller.js";
import type { Command } from "../core/command.js";
import { leaseLost } from "../core/lease-standing.js";
import { limits } from "../core/limits.js";
import { invalidField, notFound, type Rejection } from "../core/rejection.js";
import type { Run } from "../core/state.js";
import { isRunOpen } from "../core/transitions.js";
import type { Store } from "../log/store.js";
import type { KernelGauges } from "../observe/meter.js";
import type { DiskWatch } from "./disk-watch.js";
import { gaugesOf } from "./gauges.js";
import type { Hold } from "./hold.js";
import type {
  InputFilter,
  KernelApi,
  KernelInfo,
  OperationFilter,
  Page,
  ProposalFilter,
  RunFilter,
  SessionHello,
  SessionListener,
  WatchedEvent,
  Watcher,
  WatchListener,
  WorkerSession,
} from "./kernel-api.js";
import type { Lease } from "./lease-table.js";
import type { Loop } from "./loop.js";
import { defaultNamespace, type NamespaceEntry, type Namespaces } from "./namespaces.js";
import {
  type Outcome,
  type Receiver,
  RejectionError,
  type Target,
  targetNotFound,
  unavailable,
} from "./outcome.js";
import type { Timers } from "./ports.js";
import type { Position } from "./position.js";
import type { PositionJudge } from "./position-judge.js";
import type { Resident } from "./resident.js";
import type { Sessions } from "./sessions.js";
import type { Blobs } from "./storage/blobs.js";
import type { Checkpointer } from "./storage/checkpointer.js";
import type { HistoryReader } from "./storage/history-reader.js";
import type { Lists } from "./storage/lists.js";
import type { Scrubber } from "./storage/scrubber.js";
import type { StartUp } from "./storage/start-up.js";
import type { WatchHub } from "./watch-hub.js";

/** What a kernel is put together from; `openKernel` does it. */
export interface KernelParts {
  readonly store: Store;
  readonly storeId: string;
  readonly storeEpoch: number;
  readonly loop: Loop;
  readonly sessions: Sessions;
  readonly positions: PositionJudge;
  readonly hold: Hold;
  readonly checkpointer: Checkpointer;
  readonly lists: Lists;
  readonly history: HistoryReader;
  readonly blobs: Blobs;
  readonly watchHub: WatchHub;
  readonly disk: DiskWatch;
  readonly timers: Timers;
  readonly startUp: StartUp;
  readonly scrubber: Scrubber;
  readonly namespaces: Namespaces;
  /** The store's own run: its events are those of no other. */
  readonly storeRun: Resident;
  /** Resolves when timers, ready tasks and leases of the store are all known. */
  readonly openWorkKnown: Promise<void>;
}

function refuseMore({ size }: Namespaces): Rejection | undefined {
  const { namespacesMax } = limits;
  return size < namespacesMax
    ? undefined
    : invalidField("name", `one of at most ${namespacesMax} namespaces`, `one more`);
}

/** One partition's kernel: what the edge talks to. Made by `openKernel`. */
export class Kernel implements KernelApi {
  readonly #parts: KernelParts;
  readonly #loop: Loop;
  readonly #readyAtMs: number;
  readonly #failed: ((error: Error) => void)[] = [];
  #isDraining = false;
  #isOpenWorkKnown = false;
  #closing: Promise<void> | undefined;

  constructor(parts: KernelParts) {
    this.#parts = parts;
    this.#loop = parts.loop;
    this.#readyAtMs = parts.loop.clock.now();
    void parts.openWorkKnown.then(
      () => {
        this.#isOpenWorkKnown = true;
      },
      () => {
        // What failed has failed the store, and `onFailed` tells it.
      },
    );
  }

  /** Resolves when timers, ready tasks and leases of the store are all known; serving does not wait for it. */
  get openWorkKnown(): Promise<void> {
    return this.#parts.openWorkKnown;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  execute(
    target: Target,
    command: Command,
    caller: Caller,
    to: { readonly receiver: Receiver; readonly tag: number },
  ): void {
    this.#loop.execute(target, command, caller, to);
  }

  ask<T>(
    target: Target,
    command: Command,
    caller: Caller,
    project: (outcome: Outcome) => T,
  ): Promise<T> {
    const { promises } = this.#loop;
    return new Promise<T>((resolve, reject) => {
      const tag = promises.expect(project, resolve, reject);
      this.#loop.execute(target, command, caller, { receiver: promises, tag });
    });
  }

  useStanding(standingOf: StandingOf): void {
    this.#loop.useStanding(standingOf);
  }

  hasNamespace(name: string): boolean {
    return name === defaultNamespace || this.#parts.namespaces.has(name);
  }

  listNamespaces(from: number): Promise<readonly NamespaceEntry[]> {
    return this.#whenDurable(() => this.#parts.namespaces.list().slice(from));
  }

  async createNamespace(
    name: string,
    caller: Caller,
  ): Promise<{ existing: boolean; entry: NamespaceEntry; position: Uint8Array }> {
    this.#requireWorking();
    const { namespaces, storeRun, disk } = this.#parts;
    const found = namespaces.get(name);
    const refusal =
      found === undefined
        ? (this.#loop.held ?? disk.refuseNew() ?? refuseMore(namespaces))
        : undefined;
    if (refusal !== undefined) {
      throw new RejectionError(refusal);
    }
    const { principal } = caller;
    const entry = found ?? {
      namespace: name,
      principal,
      createdAtMs: this.#loop.appendEvents(storeRun, [
        { case: "namespaceCreated", value: { namespace: name, principal } },
      ]),
    };
    namespaces.add(entry);
    let position: Uint8Array = new Uint8Array(0);
    this.#loop.register({
      outcome: () => {},
      prepare: () => {},
      fault: () => {},
      release: (at) => {
        position = at;
      },
    });
    await this.#whenDurable(() => undefined);
    return { existing: found !== undefined, entry, position };
  }

  async view<T>(target: Target, project: (run: Run, runNumber: number) => T): Promise<T> {
    const resident = await this.#load(target);
    return this.#whenDurable(() => project(resident.run, resident.number));
  }

  awaitRun(
    target: Target,
    to: { readonly receiver: Receiver; readonly tag: number },
  ): { cancel(): void } {
    const { waiters, promises } = this.#loop;
    const waiter = { receiver: to.receiver, tag: to.tag };
    let cancelled = false;
    let waitsFor: number | undefined;
    const begin = (): void => {
      if (cancelled) {
        return;
      }
      const { failure } = this.#loop;
      if (failure !== undefined) {
        this.#loop.refuse(to, unavailable(failure));
        return;
      }
      const found = this.#loop.findOrRefuse(target, to, begin);
      if (found === "later") {
        return;
      }
      if (found === undefined) {
        this.#loop.answer(to.receiver, to.tag, {
          accepted: false,
          rejection: targetNotFound(target),
        });
      } else if (isRunOpen(found.run.status)) {
        waitsFor = found.number;
        waiters.add(found.number, waiter);
      } else {
        const { run, number: runNumber } = found;
        this.#loop.answer(to.receiver, to.tag, {
          accepted: true,
          reply: { existing: true },
          run,
          runNumber,
        });
      }
    };
    begin();
    return {
      cancel: () => {
        cancelled = true;
        promises.forget(to.receiver === promises ? to.tag : -1);
        if (waitsFor !== undefined) {
          waiters.remove(waitsFor, waiter);
        }
      },
    };
  }

  listRuns<T>(
    filter: RunFilter,
    page: { size: number; token: string },
    project: (run: Run, runNumber: number) => T,
  ): Promise<Page<T>> {
    return this.#listed(this.#parts.lists.listRuns(filter, page, project));
  }

  listOperations<T>(
    filter: OperationFilter,
    page: { size: number; token: string },
    project: (run: Run, operation: number, runNumber: number) => T,
  ): Promise<Page<T>> {
    return this.#listed(this.#parts.lists.listOperations(filter, page, project));
  }

  listReviews<T>(
    namespace: string,
    page: { size: number; token: string },
    project: (run: Run, runNumber: number, review: number) => T,
  ): Promise<Page<T>> {
    return this.#listed(this.#parts.lists.listReviews(namespace, page, project));
  }

  listProposals<T>(
    filter: ProposalFilter,
    page: { size: number; token: string },
    project: (run: Run, runNumber: number, proposal: number) => T,
  ): Promise<Page<T>> {
    return this.#listed(this.#parts.lists.listProposals(filter, page, project));
  }

  listInputs<T>(
    filter: InputFilter,
    page: { size: number; token: string },
    project: (run: Run, runNumber: number, input: number) => T,
  ): Promise<Page<T>> {
    return this.#listed(this.#parts.lists.listInputs(filter, page, project));
  }

  findOperation(namespace: string, operationKey: string): Promise<number | undefined> {
    return this.#whenDurable(() => this.#parts.lists.findOperation(namespace, operationKey));
  }

  async *history(target: Target, from: number): AsyncIterable<readonly WatchedEvent[]> {
    const resident = await this.#load(target);
    yield* this.#parts.history.read(resident.number, from);
  }

  async watchRun(target: Target, position: Uint8Array, listener: WatchListener): Promise<Watcher> {
    const from = await this.#judgePosition(position, { sequence: 0, hash: new Uint8Array(32) });
    const resident = await this.#load(target);
    const filter = { runNumber: resident.number, namespace: resident.run.namespace, workflow: "" };
    return this.#parts.watchHub.watch(filter, from, listener);
  }

  async watchRunFromNow(target: Target, listener: WatchListener): Promise<Watcher> {
    const resident = await this.#load(target);
    const filter = { runNumber: resident.number, namespace: resident.run.namespace, workflow: "" };
    return this.#parts.watchHub.watch(filter, this.#durableHead, listener);
  }

  async watchRuns(
    filter: { readonly namespace: string; readonly workflow: string },
    position: Uint8Array,
    listener: WatchListener,
  ): Promise<Watcher> {
    const from = await this.#judgePosition(position, this.#durableHead);
    return this.#parts.watchHub.watch({ ...filter, runNumber: undefined }, from, listener);
  }

  async watchAll(
    namespace: string,
    position: Uint8Array,
    listener: WatchListener,
  ): Promise<Watcher> {
    const from = await this.#judgePosition(position, this.#durableHead);
    const filter = { namespace, workflow: "", runNumber: undefined, withLedgers: true };
    return this.#parts.watchHub.watch(filter, from, listener);
  }

  async *readBlob(target: Target, sha256: Uint8Array): AsyncIterable<Uint8Array> {
    const resident = await this.#load(target);
    yield* this.#parts.blobs.read(resident.number, sha256);
  }

  async admitPayload(
    target: Target,
    payload: Uint8Array,
    options: { readonly mayBegin: boolean },
  ): Promise<Uint8Array> {
    this.#requireWorking();
    if (this.#loop.held !== undefined) {
      throw new RejectionError(this.#loop.held);
    }
    return await this.#parts.blobs.admit(target, payload, options);
  }

  connectSession(hello: SessionHello, listener: SessionListener): Promise<WorkerSession> {
    return this.#parts.sessions.connect(hello, listener);
  }

  async renewLease(
    target: Target,
    task: string,
    leaseVersion: number,
  ): Promise<{ leaseMs: number; cancelRequested: boolean }> {
    const { lease, run } = await this.#leaseOf(target, task, leaseVersion);
    this.#loop.work.leases.renew(lease);
    return { leaseMs: lease.leaseMs, cancelRequested: run.cancelRequestedAtMs !== 0 };
  }

  async reportProgress(
    target: Target,
    task: string,
    report: { leaseVersion: number; progress: Uint8Array },
  ): Promise<{ leaseMs: number; cancelRequested: boolean }> {
    const { lease, run } = await this.#leaseOf(target, task, report.leaseVersion);
    lease.progress = report.progress;
    this.#loop.work.leases.renew(lease);
    return { leaseMs: lease.leaseMs, cancelRequested: run.cancelRequestedAtMs !== 0 };
  }

  info(): KernelInfo {
    return {
      storeId: this.#parts.storeId,
      storeEpoch: this.#parts.storeEpoch,
      readyAtMs: this.#readyAtMs,
      nowMs: this.#loop.clock.now(),
      durableSequence: this.#loop.durableSequence,
      horizonSequence: this.#parts.checkpointer.horizon.sequence,
      residentRuns: this.#loop.residency.size,
      isDiskLow: this.#parts.disk.isLow,
      isOpenWorkKnown: this.#isOpenWorkKnown,
      readOnlyReason: this.#parts.hold.reason,
      scrub: this.#parts.scrubber.status,
    };
  }

  onHeld(callback: () => void): void {
    this.#parts.hold.onHeld(callback);
  }

  /** What metrics show of its state. */
  gauges(): KernelGauges {
    return gaugesOf(this.#parts, this.#isOpenWorkKnown);
  }

  onFailed(callback: (error: Error) => void): void {
    const { failure } = this.#loop;
    if (failure === undefined) {
      this.#failed.push(callback);
    } else {
      callback(failure);
    }
  }

  /** Called once by whoever put the kernel together, when the loop has failed. */
  notifyFailed(error: Error): void {
    for (const callback of this.#failed.splice(0)) {
      callback(error);
    }
  }

  /** Says that the kernel goes away: watchers end with their positions, and the edge refuses new work. */
  drain(): void {
    this.#isDraining = true;
    this.#parts.watchHub.drain();
  }

  /** Waits for what is gathered, writes the last checkpoint and closes the store. Safe to call again. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.drain();
    this.#parts.startUp.close();
    await this.#parts.scrubber.close();
    await this.#loop.drained();
    await this.#parts.disk.close();
    await this.#parts.checkpointer.close();
    await this.#loop.drained();
    this.#loop.close();
    await this.#parts.store.close();
  }

  get #durableHead(): Position {
    return this.#loop.durableHead;
  }

  async #judgePosition(bytes: Uint8Array, whenEmpty: Position): Promise<Position> {
    return bytes.length === 0 ? whenEmpty : await this.#parts.positions.judge(bytes);
  }

  async #load(target: Target): Promise<Resident> {
    for (;;) {
      this.#requireWorking();
      const found = this.#loop.find(target);
      if (found === undefined) {
        throw new RejectionError(targetNotFound(target));
      }
      if (!(found instanceof Promise)) {
        return found;
      }
      await found;
    }
  }

  async #leaseOf(
    target: Target,
    taskName: string,
    leaseVersion: number,
  ): Promise<{ lease: Lease; run: Run }> {
    const { run, number } = await this.#load(target);
    const taskNumber = run.plan.byName.get(taskName);
    const task = taskNumber === undefined ? undefined : run.tasks[taskNumber];
    if (taskNumber === undefined || task === undefined) {
      throw new RejectionError(notFound("task", taskName));
    }
    const lease = this.#loop.work.leases.find(number, taskNumber);
    if (lease?.leaseVersion !== leaseVersion) {
      throw new RejectionError(leaseLost(task, leaseVersion));
    }
    return { lease, run };
  }

  /** Computes an answer from the pending state now, and gives it once that is durable. */
  #whenDurable<T>(project: () => T): Promise<T> {
    this.#requireWorking();
    const { promises } = this.#loop;
    return new Promise<T>((resolve, reject) => {
      promises.later(project, resolve, reject);
      this.#loop.register(promises);
    });
  }

  async #listed<T>(page: Promise<Page<T>>): Promise<Page<T>> {
    const listed = await page;
    return await this.#whenDurable(() => listed);
  }

  #requireWorking(): void {
    if (this.#loop.failure !== undefined) {
      throw this.#loop.failure;
    }
  }
}

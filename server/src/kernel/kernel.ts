import type { KernelStartedShape } from "@pawl/proto/log/v1/event_wire.js";
import type { CredentialMode } from "@pawl/proto/v1/credential_policy_pb.js";
import type { Caller, StandingOf } from "../core/caller.js";
import type { Command } from "../core/command.js";
import { kindAt } from "../core/plan/code-version.js";
import { taskNumber } from "../core/plan/tasks-of-run.js";
import { notFound } from "../core/rejection.js";
import type { Run } from "../core/state.js";
import type { IsServed } from "../core/view/why.js";
import type { KernelGauges } from "../observe/meter.js";
import { awaitRun, awaitThere } from "./await-run.js";
import { type CredentialPolicyChange, changeCredentialPolicy } from "./change-credential-policy.js";
import { changeCurrentVersion, neverSet, type VersionChange } from "./change-current-version.js";
import {
  changeRetention,
  type RetentionChange,
  type RetentionChanged,
} from "./change-retention.js";
import { createNamespace } from "./create-namespace.js";
import type { CredentialPolicyEntry } from "./credential-policies.js";
import type { CurrentVersionEntry } from "./current-versions.js";
import { queueKey } from "./dispatcher.js";
import { DurableAnswers } from "./durable-answers.js";
import { gaugesOf } from "./gauges.js";
import type {
  InputFilter,
  KernelApi,
  KernelInfo,
  LogStatus,
  OperationFilter,
  Page,
  PageRequest,
  ProposalFilter,
  RunFilter,
  SessionHello,
  SessionListener,
  WatchedEvent,
  Watcher,
  WatchListener,
  WorkerSession,
} from "./kernel-api.js";
import type { KernelParts } from "./kernel-parts.js";
import type { Loop } from "./loop.js";
import { NamedLeases } from "./named-leases.js";
import { defaultNamespace, type NamespaceEntry } from "./namespaces.js";
import { goingAway, type Outcome, RejectionError, type ReplyTo, type Target } from "./outcome.js";
import type { EmittedChunk, OutputFilter, OutputReading } from "./output/output-entry.js";
import type { RetentionEntry } from "./retentions.js";
import type { EventProof } from "./storage/event-proofs.js";
import { type EvidencePiece, RunEvidence } from "./storage/run-evidence.js";
import { Watches } from "./watches.js";

/** What `KernelInfo` tells of the log. */
function logStatusOf({ checkpointer, compactor }: KernelParts): LogStatus {
  const { anchor, logBytes, retention } = checkpointer;
  return { anchor, bytes: logBytes, retention, compact: compactor.status };
}

/** One partition's kernel: what the edge talks to. Made by `openKernel`. */
export class Kernel implements KernelApi {
  readonly #parts: KernelParts;
  readonly #loop: Loop;
  readonly #answers: DurableAnswers;
  readonly #watches: Watches;
  readonly #namedLeases: NamedLeases;
  readonly #evidence: RunEvidence;
  readonly #readyAtMs: number;
  readonly #failed: ((error: Error) => void)[] = [];
  #isDraining = false;
  #isOpenWorkKnown = false;
  #closing: Promise<void> | undefined;

  constructor(parts: KernelParts) {
    this.#parts = parts;
    this.#loop = parts.loop;
    this.#answers = new DurableAnswers(parts.loop);
    this.#watches = new Watches(parts, this.#answers);
    const { store, partition, loop } = parts;
    this.#evidence = new RunEvidence({ store, partition, loop });
    this.#namedLeases = new NamedLeases(parts.loop, this.#answers);
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

  execute(target: Target, command: Command, caller: Caller, to: ReplyTo): void {
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
    return this.#answers.whenDurable(() => this.#parts.namespaces.list().slice(from));
  }

  createNamespace(
    name: string,
    caller: Caller,
  ): Promise<{ existing: boolean; entry: NamespaceEntry; position: Uint8Array }> {
    return createNamespace(this.#parts, this.#answers, name, caller);
  }

  changeCurrentVersion(
    change: VersionChange,
    caller: Caller,
  ): Promise<{ existing: boolean; entry: CurrentVersionEntry; position: Uint8Array }> {
    return changeCurrentVersion(this.#parts, this.#answers, change, caller);
  }

  getCurrentVersion(namespace: string, workflow: string): Promise<CurrentVersionEntry> {
    const { versions } = this.#parts;
    return this.#answers.whenDurable(
      () => versions.get(namespace, workflow) ?? neverSet(namespace, workflow),
    );
  }

  listCurrentVersions(from: number): Promise<readonly CurrentVersionEntry[]> {
    return this.#answers.whenDurable(() => this.#parts.versions.list().slice(from));
  }

  changeCredentialPolicy(
    change: CredentialPolicyChange,
    caller: Caller,
  ): Promise<{ existing: boolean; entry: CredentialPolicyEntry; position: Uint8Array }> {
    return changeCredentialPolicy(this.#parts, this.#answers, change, caller);
  }

  getCredentialPolicy(namespace: string): Promise<CredentialPolicyEntry> {
    return this.#answers.whenDurable(() => this.#parts.credentialPolicies.get(namespace));
  }

  readonly credentialModeIn = (namespace: string): CredentialMode =>
    this.#parts.credentialPolicies.modeIn(namespace);
  getRetention(namespace: string): Promise<RetentionEntry> {
    return this.#answers.whenDurable(() => this.#parts.retentions.get(namespace));
  }

  tombstoneUntilMs(namespace: string): number {
    const { tombstonesMs } = this.#parts.retentions.of(namespace).keep;
    return tombstonesMs === undefined ? 0 : this.#loop.clock.now() + tombstonesMs;
  }

  changeRetention(change: RetentionChange, caller: Caller): Promise<RetentionChanged> {
    return changeRetention(this.#parts, this.#answers, change, caller);
  }

  async view<T>(target: Target, project: (run: Run, runNumber: number) => T): Promise<T> {
    const resident = await this.#answers.load(target);
    return this.#answers.whenDurable(() => project(resident.run, resident.number));
  }

  awaitRun(target: Target, to: ReplyTo): { cancel(): void } {
    return awaitRun(this.#loop, target, to);
  }

  awaitThere(target: Target, isThere: (run: Run) => boolean, to: ReplyTo): { cancel(): void } {
    return awaitThere(this.#loop, target, isThere, to);
  }

  listRuns<T>(
    filter: RunFilter,
    page: PageRequest<T>,
    project: (run: Run, runNumber: number) => T,
  ): Promise<Page<T>> {
    return this.#answers.afterwards(this.#parts.lists.listRuns(filter, page, project));
  }

  listOperations<T>(
    filter: OperationFilter,
    page: PageRequest<T>,
    project: (run: Run, operation: number, runNumber: number) => T,
  ): Promise<Page<T>> {
    return this.#answers.afterwards(this.#parts.lists.listOperations(filter, page, project));
  }

  listReviews<T>(
    namespace: string,
    page: PageRequest<T>,
    project: (run: Run, runNumber: number, review: number) => T,
  ): Promise<Page<T>> {
    return this.#answers.afterwards(this.#parts.lists.listReviews(namespace, page, project));
  }

  listProposals<T>(
    filter: ProposalFilter,
    page: PageRequest<T>,
    project: (run: Run, runNumber: number, proposal: number) => T,
  ): Promise<Page<T>> {
    return this.#answers.afterwards(this.#parts.lists.listProposals(filter, page, project));
  }

  listInputs<T>(
    filter: InputFilter,
    page: PageRequest<T>,
    project: (run: Run, runNumber: number, input: number) => T,
  ): Promise<Page<T>> {
    return this.#answers.afterwards(this.#parts.lists.listInputs(filter, page, project));
  }

  findOperation(namespace: string, operationKey: string): Promise<number | undefined> {
    return this.#answers.whenDurable(() =>
      this.#parts.lists.findOperation(namespace, operationKey),
    );
  }

  async *history(target: Target, from: number): AsyncIterable<readonly WatchedEvent[]> {
    const resident = await this.#answers.load(target);
    yield* this.#parts.history.read(resident.number, from);
  }

  async eventProofs(
    target: Target,
    events: readonly number[],
  ): Promise<ReadonlyMap<number, EventProof>> {
    const resident = await this.#answers.load(target);
    return await this.#parts.history.proofs(resident.number, events);
  }

  async *evidence(target: Target): AsyncIterable<EvidencePiece> {
    const resident = await this.#answers.load(target);
    yield* this.#evidence.read(resident.number);
  }

  seals(runNumbers: ReadonlySet<number>): AsyncIterable<EvidencePiece> {
    return this.#evidence.seals(runNumbers, this.#parts.storeRun);
  }

  watchRun(target: Target, position: Uint8Array, listener: WatchListener): Promise<Watcher> {
    return this.#watches.watchRun(target, position, listener);
  }

  watchRunFromNow(target: Target, listener: WatchListener): Promise<Watcher> {
    return this.#watches.watchRunFromNow(target, listener);
  }

  watchRuns(
    filter: { readonly namespace: string; readonly workflow: string },
    position: Uint8Array,
    listener: WatchListener,
  ): Promise<Watcher> {
    return this.#watches.watchRuns(filter, position, listener);
  }

  watchAll(namespace: string, position: Uint8Array, listener: WatchListener): Promise<Watcher> {
    return this.#watches.watchAll(namespace, position, listener);
  }

  async *readBlob(target: Target, sha256: Uint8Array): AsyncIterable<Uint8Array> {
    const resident = await this.#answers.load(target);
    yield* this.#parts.blobs.read(resident.number, sha256);
  }

  async admitPayload(
    target: Target,
    payload: Uint8Array,
    options: { readonly mayBegin: boolean },
  ): Promise<Uint8Array> {
    this.#answers.requireWorking();
    if (this.#loop.held !== undefined) {
      throw new RejectionError(this.#loop.held);
    }
    return await this.#parts.blobs.admit(target, payload, options);
  }

  connectSession(hello: SessionHello, listener: SessionListener): Promise<WorkerSession> {
    return this.#parts.sessions.connect(hello, listener);
  }

  renewLease(
    target: Target,
    task: string,
    leaseVersion: number,
  ): Promise<{ leaseMs: number; cancelRequested: boolean }> {
    return this.#namedLeases.renew(target, task, leaseVersion);
  }

  reportProgress(
    target: Target,
    task: string,
    report: { leaseVersion: number; progress: Uint8Array },
  ): Promise<{ leaseMs: number; cancelRequested: boolean }> {
    return this.#namedLeases.progress(target, task, report);
  }

  emitOutput(
    target: Target,
    task: string,
    emitted: { leaseVersion: number; chunks: readonly EmittedChunk[] },
  ): Promise<{ leaseMs: number; cancelRequested: boolean }> {
    return this.#namedLeases.emit(target, task, emitted);
  }

  async readOutput(target: Target, filter: OutputFilter): Promise<OutputReading> {
    const resident = await this.#answers.load(target);
    return await this.#answers.whenDurable(() => {
      const { task } = filter;
      if (task !== undefined && taskNumber(resident.run, task) === undefined) {
        throw new RejectionError(notFound("task", task));
      }
      return this.#loop.work.output.open(resident, filter);
    });
  }

  readonly isServed: IsServed = (namespace, queue, kind) =>
    this.#loop.work.dispatcher.describe(queueKey(namespace, queue, kind)).sessions > 0;

  starts(): Promise<readonly KernelStartedShape[]> {
    return this.#answers.whenDurable(() => this.#parts.starts.list());
  }

  sessionsOfVersion({ namespace, workflow, codeVersion }: CurrentVersionEntry): number {
    const kind = kindAt(workflow, codeVersion);
    return this.#loop.work.dispatcher.describe(queueKey(namespace, kind, kind)).sessions;
  }

  readonly currentVersion = (namespace: string, workflow: string): number =>
    this.#parts.versions.current(namespace, workflow);

  info(): KernelInfo {
    return {
      storeId: this.#parts.storeId,
      storeEpoch: this.#parts.storeEpoch,
      readyAtMs: this.#readyAtMs,
      nowMs: this.#loop.clock.now(),
      durableSequence: this.#loop.durableSequence,
      horizonSequence: this.#parts.checkpointer.horizon.sequence,
      log: logStatusOf(this.#parts),
      residentRuns: this.#loop.residency.size,
      isDiskLow: this.#parts.disk.isLow,
      isOpenWorkKnown: this.#isOpenWorkKnown,
      readOnlyReason: this.#parts.hold.reason,
      scrub: this.#parts.scrubber.status,
      setAsideRuns: this.#parts.setAside.runs,
    };
  }

  storeBytes(): Promise<number> {
    return this.#parts.store.usedBytes();
  }

  onHeld(callback: () => void): void {
    this.#parts.hold.onHeld(callback);
  }

  onScrubbed(callback: () => void): void {
    this.#parts.scrubber.onNews(callback);
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
    this.#loop.work.output.endReaders(new RejectionError(goingAway));
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
    await this.#parts.compactor.close();
    await this.#parts.keeper.close();
    if (this.#loop.failure === undefined) {
      this.#loop.appendWaiting();
    }
    await this.#loop.drained();
    await this.#parts.disk.close();
    await this.#parts.checkpointer.close();
    await this.#loop.drained();
    this.#loop.close();
    if (this.#loop.failure === undefined && this.#loop.held === undefined) {
      await this.#parts.markClosed();
    }
    await this.#parts.store.close();
  }
}

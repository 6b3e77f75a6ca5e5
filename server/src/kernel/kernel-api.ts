import type { KernelStartedShape } from "@pawl/proto/log/v1/event_wire.js";
import type { CredentialMode } from "@pawl/proto/v1/credential_policy_pb.js";
import type { Caller, StandingOf } from "../core/caller.js";
import type { Command } from "../core/command.js";
import type { EventBody } from "../core/event.js";
import type { Obligation, Proposal, Review, Run } from "../core/state.js";
import type { IsServed } from "../core/view/why.js";
import type { ChainPoint } from "../log/segment.js";
import type { CredentialPolicyChange } from "./change-credential-policy.js";
import type { VersionChange } from "./change-current-version.js";
import type { RetentionChange, RetentionChanged } from "./change-retention.js";
import type { CredentialPolicyEntry } from "./credential-policies.js";
import type { CurrentVersionEntry } from "./current-versions.js";
import type { NamespaceEntry } from "./namespaces.js";
import type { Outcome, Receiver, ReplyTo, Target } from "./outcome.js";
import type { EmittedChunk, OutputFilter, OutputReading } from "./output/output-entry.js";
import type { RetentionEntry } from "./retentions.js";
import type { CompactStatus } from "./storage/compactor.js";
import type { EventProof } from "./storage/event-proofs.js";
import type { LogRetention } from "./storage/log-retention.js";
import type { EvidencePiece } from "./storage/run-evidence.js";
import type { ScrubStatus } from "./storage/scrubber.js";

/** A stored event with its places, as history and watchers give it. */
export interface StoredEvent {
  /** Place in the log, from 1. */
  readonly sequence: number;
  /** Place in its run, from 1. */
  readonly number: number;
  /** Ms since the Unix epoch. */
  readonly atMs: number;
  readonly body: EventBody;
}

/** What a worker session is told; see `pawl.v1.WorkResponse`. All of it is held back until durable, as `Receiver` says. */
export interface SessionListener extends Receiver {
  /** A task was leased to the session, under `lease.handle`. Read from `run` at once. */
  offer(lease: SessionLease, run: Run): void;
  /** Something ended for a task that the session holds: a wait of it, or a task that it called. Read from `run` when the turn ends. */
  ended(lease: SessionLease, run: Run): void;
  /** The attempt should stop. */
  cancel(handle: number, reason: string, graceMs: number): void;
  /** A lease is over without the session's own report. */
  lost(handle: number, cause: string): void;
  /** The session has connected again: this connection is the older one, and nothing it says counts any more. */
  superseded(): void;
}

/** What a worker says of itself. */
export interface SessionHello {
  readonly sessionId: string;
  readonly worker: string;
  readonly namespace: string;
  /** Queues with the kind wanted there. */
  readonly serves: readonly { readonly kind: string; readonly queue: string }[];
  readonly holds: readonly {
    readonly handle: number;
    readonly runId: string;
    readonly task: string;
    readonly leaseVersion: number;
  }[];
}

/** A lease as a session knows it. */
export interface SessionLease {
  readonly handle: number;
  readonly runNumber: number;
  readonly task: number;
  readonly leaseVersion: number;
  readonly leaseMs: number;
  /** The session has the task warm: up to which event its code has been given outcomes. Undefined: it reads everything. */
  readonly warmThrough: number | undefined;
}

/** A worker session that is connected. */
export interface WorkerSession {
  readonly sessionId: string;
  /** Handles of `holds` that are no longer held. */
  readonly lostHandles: readonly number[];
  /** Adds credits (negative: takes them back). */
  addCredits(count: number): void;
  /** Whether the worker reads what it is sent: one that does not is given no tasks, whatever its credits, or they would pile up here. */
  setRoom(hasRoom: boolean): void;
  /** The lease behind a handle; undefined when it is over. */
  lease(handle: number): SessionLease | undefined;
  /** Memory only: an offer was taken. Any other item of the lease acknowledges as well. */
  acknowledge(handle: number): void;
  /** Memory only: renews a lease. False when it is over. */
  renew(handle: number): boolean;
  /** Memory only: keeps the last progress until the task's next event. False when the lease is over. */
  progress(handle: number, progress: Uint8Array): boolean;
  /** Memory only: gives a chunk to whoever reads live output, and renews the lease; it keeps `chunk.payload` as it is. Nothing when the lease is over. */
  emit(handle: number, leaseVersion: number, chunk: EmittedChunk): void;
  /** No more offers. */
  drain(): void;
  /** The connection is gone. Leases stay until they expire or the session comes back. */
  disconnect(): void;
}

/** One page asked for. */
export interface PageRequest<T> {
  /** Most items. */
  readonly size: number;
  /** Where it begins: the token of the page before it; empty: at the beginning. */
  readonly token: string;
  /** Most bytes of its items together; one that is larger stands alone. Default: no bound. */
  readonly bytesMax?: number;
  /** Bytes of one item. Default: none. */
  readonly bytesOf?: (item: T) => number;
}

/** A page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Opaque; empty on the last page. */
  readonly nextPageToken: string;
}

/** Where the log begins, how long it is and how much of it is kept. */
export interface LogStatus {
  /** End of the last segment that was trimmed; sequence 0: none was. */
  readonly anchor: ChainPoint;
  /** Bytes of its segments, about. */
  readonly bytes: number;
  readonly retention: LogRetention;
  readonly compact: CompactStatus;
}

/** Facts about the kernel for GetServerInfo and metrics. */
export interface KernelInfo {
  readonly storeId: string;
  readonly storeEpoch: number;
  readonly readyAtMs: number;
  readonly nowMs: number;
  readonly durableSequence: number;
  readonly horizonSequence: number;
  readonly log: LogStatus;
  readonly residentRuns: number;
  readonly isDiskLow: boolean;
  /** True once timers, ready tasks and leases of the store are all known after the start. */
  readonly isOpenWorkKnown: boolean;
  /** Why the kernel is read-only: a sentence; empty while it takes work. */
  readonly readOnlyReason: string;
  /** What the scrubber has done and found. */
  readonly scrub: ScrubStatus;
  /** Numbers of the runs whose rows are damaged and that are refused, found in whatever process. */
  readonly setAsideRuns: readonly number[];
}

/** A subscription to durable events; see `Kernel.watchRun`. */
export interface Watcher {
  /** Where it begins: a watch that breaks before its first event goes on from here. */
  readonly position: Uint8Array;
  /** Ends it. */
  close(): void;
  /** Tells that the reader took `bytes` more: the bound counts what is not yet taken. */
  taken(bytes: number): void;
}

/** What a watcher is told. */
export interface WatchListener {
  /** Events that became durable together, in order, with the position to go on from. Call `taken(bytes)` once the reader has them. */
  events(batch: readonly WatchedEvent[], position: Uint8Array, bytes: number): void;
  /** The end: the run has ended (`closed`), the reader is too slow (`slow`) or the kernel goes away (`draining`). */
  end(reason: "closed" | "slow" | "draining", position: Uint8Array): void;
  /** The end by an error: a RejectionError for a place that is trimmed, anything else is the store's. */
  fail(error: unknown): void;
}

/** An event with the run it belongs to. `run` is the pending state, for names only. */
export interface WatchedEvent {
  readonly runNumber: number;
  readonly runId: string;
  readonly workflow: string;
  /** Which execution of the run the event is of. */
  readonly incarnation: number;
  readonly taskName: (number: number) => string;
  readonly operationKey: (number: number) => string;
  /** What the run owes or owed another; its state may be later than the event. */
  readonly obligation: (number: number) => Obligation | undefined;
  /** What a proposal of the run is; its state may be later than the event. */
  readonly proposal: (number: number) => Proposal | undefined;
  /** What a review of the run is; its state may be later than the event. */
  readonly review: (number: number) => Review | undefined;
  readonly event: StoredEvent;
}

/** Filter of a list of runs. `status` 0 and an empty workflow mean all. */
export interface RunFilter {
  readonly namespace: string;
  readonly status: number;
  readonly workflow: string;
}

/** Filter of a list of operations. `runId` empty: all of the namespace; `status` 0: all. */
export interface OperationFilter {
  readonly namespace: string;
  readonly runId: string;
  readonly status: number;
}

/** Filter of a list of proposals. `runId` empty: all of the namespace (then with a `status`); `addressee` empty: whoever may decide. */
export interface ProposalFilter {
  readonly namespace: string;
  readonly runId: string;
  readonly status: number;
  readonly addressee: string;
}

/** Filter of a list of open input requests: an addressee, which is empty for anybody; undefined: all. */
export interface InputFilter {
  readonly namespace: string;
  readonly addressee: string | undefined;
}

/** What the edge may ask of the kernel. All answers are held back until what they are computed from is durable. */
export interface KernelApi {
  /** Decides a command now, or as soon as its run is in memory, and tells the receiver. The streams use this. */
  execute(target: Target, command: Command, caller: Caller, to: ReplyTo): void;
  /** The same for one caller: `project` computes the answer at the moment of decision; the promise gives it once durable. */
  ask<T>(
    target: Target,
    command: Command,
    caller: Caller,
    project: (outcome: Outcome) => T,
  ): Promise<T>;
  /** Has decisions look up there what principals may do now. Default: only `local` may do anything. */
  useStanding(standingOf: StandingOf): void;
  /** True for a namespace of this store, also while its creation is becoming durable: what is done in it comes after. */
  hasNamespace(name: string): boolean;
  /** The namespaces from number `from` on, `default` first, in the order of their creation. */
  listNamespaces(from: number): Promise<readonly NamespaceEntry[]>;
  /** Creates a namespace; resolves when it is durable. One that is there stays as it is. Rejects with RejectionError. */
  createNamespace(
    name: string,
    caller: Caller,
  ): Promise<{ existing: boolean; entry: NamespaceEntry; position: Uint8Array }>;
  /**
   * Sets or removes the current version of a workflow; resolves when it is durable. What is so already, or was made so from the expected version, is
   * left as it is. Rejects with RejectionError.
   */
  changeCurrentVersion(
    change: VersionChange,
    caller: Caller,
  ): Promise<{ existing: boolean; entry: CurrentVersionEntry; position: Uint8Array }>;
  /** What is known of the current version of a workflow: version 0 when none was ever set. */
  getCurrentVersion(namespace: string, workflow: string): Promise<CurrentVersionEntry>;
  /** All current versions from number `from` on, in the order in which they were first set, those of other namespaces and removed ones included. */
  listCurrentVersions(from: number): Promise<readonly CurrentVersionEntry[]>;
  /**
   * Changes what a namespace does with credentials in content; resolves when it is durable. What is so already, or was made so from the expected version, is left as it is.
   * Rejects with RejectionError.
   */
  changeCredentialPolicy(
    change: CredentialPolicyChange,
    caller: Caller,
  ): Promise<{ existing: boolean; entry: CredentialPolicyEntry; position: Uint8Array }>;
  /** What a namespace does with credentials in content: version 0 when that was never changed. */
  getCredentialPolicy(namespace: string): Promise<CredentialPolicyEntry>;
  /** The same at once: also while a change is becoming durable, since what comes now is recorded after it. */
  readonly credentialModeIn: (namespace: string) => CredentialMode;
  /** How long a namespace keeps what: version 0 when nobody ever said so. */
  getRetention(namespace: string): Promise<RetentionEntry>;
  /** Changes it, or its legal hold; resolves when it is durable. What is so already is left as it is. Rejects with RejectionError. */
  changeRetention(change: RetentionChange, caller: Caller): Promise<RetentionChanged>;
  /** Until when the id of a run stands that is deleted now, in ms since the Unix epoch; 0: for ever. */
  tombstoneUntilMs(namespace: string): number;
  /** Computes an answer from the pending state of one aggregate. Rejects with RejectionError when there is none. */
  view<T>(target: Target, project: (run: Run, runNumber: number) => T): Promise<T>;
  /** Tells the receiver when the run has ended (`outcome` with the run), at once when it has; or that there is none. */
  awaitRun(target: Target, to: ReplyTo): { cancel(): void };
  /** Tells the receiver when the state of a run is so (`outcome` with the run), at once when it is; or that there is no such run. */
  awaitThere(target: Target, isThere: (run: Run) => boolean, to: ReplyTo): { cancel(): void };
  /** One page of runs, newest first. */
  listRuns<T>(
    filter: RunFilter,
    page: PageRequest<T>,
    project: (run: Run, runNumber: number) => T,
  ): Promise<Page<T>>;
  /** One page of operations across runs, by state. */
  listOperations<T>(
    filter: OperationFilter,
    page: PageRequest<T>,
    project: (run: Run, operation: number, runNumber: number) => T,
  ): Promise<Page<T>>;
  /** One page of open reviews across runs, oldest first. `reviewId` of the API is `<run number>-<review number>`. */
  listReviews<T>(
    namespace: string,
    page: PageRequest<T>,
    project: (run: Run, runNumber: number, review: number) => T,
  ): Promise<Page<T>>;
  /** One page of proposals across runs, oldest first. */
  listProposals<T>(
    filter: ProposalFilter,
    page: PageRequest<T>,
    project: (run: Run, runNumber: number, proposal: number) => T,
  ): Promise<Page<T>>;
  /** One page of open input requests across runs, oldest first. `inputId` of the API is `<run number>-<input number>`. */
  listInputs<T>(
    filter: InputFilter,
    page: PageRequest<T>,
    project: (run: Run, runNumber: number, input: number) => T,
  ): Promise<Page<T>>;
  /** Number of the aggregate that holds this operation key, or the proposal of it; undefined when there is none. */
  findOperation(namespace: string, operationKey: string): Promise<number | undefined>;
  /** Durable events of one run from event number `from`, a page (≤ 256 events or 1 MiB) at a time. */
  history(target: Target, from: number): AsyncIterable<readonly WatchedEvent[]>;
  /** The last ten starts of kernels on this store, the oldest first; see `KernelStarted`. */
  starts(): Promise<readonly KernelStartedShape[]>;
  /** Where the log holds durable events of one run, by their numbers; one that it holds no more is left out. */
  eventProofs(target: Target, events: readonly number[]): Promise<ReadonlyMap<number, EventProof>>;
  /** What a run is made of, byte by byte as it is stored, as far as it has come. Rejects with RejectionError when there is none. */
  evidence(target: Target): AsyncIterable<EvidencePiece>;
  /** The stored parts of the store's own history in which chunks of these runs are sealed. */
  seals(runNumbers: ReadonlySet<number>): AsyncIterable<EvidencePiece>;
  /** Watches one run from a position (empty: from its first event). Rejects with RejectionError for a bad position. */
  watchRun(target: Target, position: Uint8Array, listener: WatchListener): Promise<Watcher>;
  /** Watches one run from now on. */
  watchRunFromNow(target: Target, listener: WatchListener): Promise<Watcher>;
  /** Watches a namespace from a position (empty: from now). */
  watchRuns(
    filter: { readonly namespace: string; readonly workflow: string },
    position: Uint8Array,
    listener: WatchListener,
  ): Promise<Watcher>;
  /** Watches a namespace as `watchRuns` does, operations of scope NAMESPACE as well. */
  watchAll(namespace: string, position: Uint8Array, listener: WatchListener): Promise<Watcher>;
  /** Content that was moved out of line. */
  readBlob(target: Target, sha256: Uint8Array): AsyncIterable<Uint8Array>;
  /** Stores content above the inline bound durably and answers the payload that refers to it; for payloads within the bound answers them as they are. */
  admitPayload(
    target: Target,
    payload: Uint8Array,
    options: { readonly mayBegin: boolean },
  ): Promise<Uint8Array>;
  /** Connects a worker session, or the same one again. */
  connectSession(hello: SessionHello, listener: SessionListener): Promise<WorkerSession>;
  /** Memory only: renews a lease by name; the answer is its length in ms, or why it is refused. */
  renewLease(
    target: Target,
    task: string,
    leaseVersion: number,
  ): Promise<{ leaseMs: number; cancelRequested: boolean }>;
  /** Memory only: keeps progress and renews. */
  reportProgress(
    target: Target,
    task: string,
    lease: { leaseVersion: number; progress: Uint8Array },
  ): Promise<{ leaseMs: number; cancelRequested: boolean }>;
  /** Memory only: gives chunks to whoever reads live output, and renews. Rejects with RejectionError. */
  emitOutput(
    target: Target,
    task: string,
    emitted: { leaseVersion: number; chunks: readonly EmittedChunk[] },
  ): Promise<{ leaseMs: number; cancelRequested: boolean }>;
  /** Reads live output of a run. Rejects with RejectionError. */
  readOutput(target: Target, filter: OutputFilter): Promise<OutputReading>;
  info(): KernelInfo;
  /** Bytes that the store takes up on its disk. */
  storeBytes(): Promise<number>;
  /** Whether a worker session that serves this kind in this queue is connected. Bound: it may be handed on. */
  readonly isServed: IsServed;
  /** Sessions that are connected and serve a workflow at a version, in the queue of its own name. */
  sessionsOfVersion(entry: CurrentVersionEntry): number;
  /** The version of a workflow that is current, maybe not yet durably; 0: none is. */
  readonly currentVersion: (namespace: string, workflow: string) => number;
  /** True once new work is refused because the kernel is going away. */
  readonly isDraining: boolean;
  /** Fires once when the kernel becomes read-only, at once when it is: something acknowledged is gone, and an operator must decide. */
  onHeld(callback: () => void): void;
  /** Fires after each finding of the scrubber (something stored is not as it was written), and after each of its rounds. */
  onScrubbed(callback: () => void): void;
  /** Fires when the store failed: nothing more is acknowledged. */
  onFailed(callback: (error: Error) => void): void;
}

import type { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { ApplyHooks } from "../core/apply/hooks.js";
import { announceObligations } from "../core/apply/obligations.js";
import type { Command, LeaseName, StartRun } from "../core/command.js";
import { graceDeadlineMs, nextDeadlineMs, runDeadlineMs } from "../core/deadline.js";
import { mustStop } from "../core/lease-standing.js";
import { limits } from "../core/limits.js";
import { specOf } from "../core/plan/change-spec.js";
import { followsCurrent } from "../core/plan/code-version.js";
import { plannedSpec, taskNumber } from "../core/plan/tasks-of-run.js";
import { nextExpiryMs } from "../core/proposals.js";
import type { MutableRun, Run } from "../core/state.js";
import { isTaskClosed } from "../core/transitions.js";
import { DeadlineQueue, type Due } from "./deadline-queue.js";
import { Dispatcher } from "./dispatcher.js";
import type { SessionListener } from "./kernel-api.js";
import { type Lease, type LeaseParts, LeaseTable, tasksPerRun } from "./lease-table.js";
import { OpenRuns } from "./open-runs.js";
import type { Outcome, Receiver } from "./outcome.js";
import { LiveOutput } from "./output/live-output.js";
import type { Timers } from "./ports.js";
import type { Found } from "./residency.js";
import type { Resident } from "./resident.js";
import type { Session } from "./session.js";

/** Stands for a task in the deadline of a run's proposals: no plan has so many. */
const proposalsSlot = tasksPerRun - 1;
/** The same in the deadline of the run itself. */
const runSlot = tasksPerRun - 2;

/** What open work needs of the loop. */
export interface OpenWorkParts {
  readonly timers: Timers;
  readonly now: () => number;
  readonly find: (runNumber: number) => Found;
  /** Decides a command of the kernel's own on a run in memory. */
  readonly decideOn: (resident: Resident, command: Command) => Outcome;
  /** Decides a command of the kernel's own on any run; nobody waits for the answer. */
  readonly command: (runNumber: number, command: Command) => void;
  /** Has a receiver, such as a session's connection, released with the turn that gathers. */
  readonly register: (receiver: Receiver) => void;
  readonly schedule: () => void;
  /** The version of a workflow's code that is current; 0: none is. */
  readonly currentVersion: (namespace: string, workflow: string) => number;
  /** A run owes another one something, or may pay it now. */
  readonly obliged: (runNumber: number, run: MutableRun, obligation: number) => void;
  /** A run has ended. */
  readonly closed: (runNumber: number) => void;
}

interface TaskDeadline extends Due {
  readonly run: number;
  readonly task: number;
}

/**
 * What is open in all runs and lives outside their states: ready tasks, leases, deadlines. It follows the events by the hooks of
 * `apply`, and acts by commands that the state may refuse.
 */
export class OpenWork {
  readonly dispatcher: Dispatcher;
  readonly leases: LeaseTable;
  readonly openRuns: OpenRuns = new OpenRuns();
  readonly output: LiveOutput;
  /** Told of every applied event. */
  readonly hooks: ApplyHooks;
  /** The aggregate that events are being applied to. */
  current = 0;
  /** Told of every lease that a start finds, some after their sessions are back. */
  onRestored: (lease: Lease) => void = () => {};
  readonly #parts: OpenWorkParts;
  readonly #deadlines: DeadlineQueue<TaskDeadline>;
  /** The one deadline that is armed for a task: an older one would stay in memory until it is due, long after its task has ended. */
  readonly #armed = new Map<number, TaskDeadline>();

  constructor(parts: OpenWorkParts) {
    this.#parts = parts;
    const { timers, now } = parts;
    this.dispatcher = new Dispatcher(
      parts.find,
      (resident, task, session, warmThrough) => this.#lease(resident, task, session, warmThrough),
      parts.schedule,
      (run, task) => this.#versionOf(run, task),
    );
    this.leases = new LeaseTable(timers, now, (lease, reason) => this.endLease(lease, reason));
    this.#deadlines = new DeadlineQueue(timers, now, (deadline) => this.#fire(deadline));
    this.output = new LiveOutput(parts);
    this.hooks = this.#makeHooks();
  }

  /** Tasks for which something is due at some time. */
  get armedDeadlines(): number {
    return this.#armed.size;
  }

  /** How late the earliest lease end or deadline is that was not acted upon yet, in ms. */
  get overdueMs(): number {
    const nowMs = this.#parts.now();
    const dueMs = Math.min(this.leases.nextMs ?? nowMs, this.#deadlines.nextMs ?? nowMs);
    return Math.max(0, nowMs - dueMs);
  }

  /** An aggregate was made; one that is a run is open. */
  began({ kind }: MutableRun): void {
    if (kind === "run") {
      this.openRuns.add();
    }
  }

  /** Ends a lease by its table entry. */
  endLease(lease: Lease, reason: LeaseEndReason): void {
    const { task, leaseVersion, progress } = lease;
    this.#parts.command(lease.runNumber, {
      kind: "EndLease",
      task,
      leaseVersion,
      reason,
      delayMs: 0,
      progress,
    });
  }

  /**
   * A command with what only this memory knows: the last progress that the worker of an ending attempt had reported, and which offers of a run
   * that pauses no worker has taken.
   */
  withMemory(resident: Resident, command: Exclude<Command, StartRun>): Exclude<Command, StartRun> {
    const { run, number } = resident;
    if (command.kind === "PauseRun") {
      return { ...command, untaken: this.#untaken(resident) };
    }
    if (
      command.kind !== "FailTask" &&
      command.kind !== "EndLease" &&
      command.kind !== "SuspendTask"
    ) {
      return command;
    }
    const task = typeof command.task === "number" ? command.task : taskNumber(run, command.task);
    const lease = task === undefined ? undefined : this.leases.find(number, task);
    if (command.kind === "SuspendTask" && lease?.leaseVersion === command.leaseVersion) {
      lease.keepsWarmThrough = command.keepsWarm === true ? command.seenThrough : undefined;
    }
    const isKept = command.progress === undefined && lease?.leaseVersion === command.leaseVersion;
    return isKept ? { ...command, progress: lease.progress } : command;
  }

  #untaken({ run, number }: Resident): LeaseName[] {
    const untaken: LeaseName[] = [];
    for (const { number: task } of run.tasks) {
      const lease = this.leases.find(number, task);
      if (lease?.isAcknowledged === false) {
        untaken.push({ task, leaseVersion: lease.leaseVersion });
      }
    }
    return untaken;
  }

  /** Arms what is due for a task, in place of what was; also what a stored row says of a run that need not be in memory. */
  armDeadline(run: number, task: number, dueMs: number): void {
    const key = run * tasksPerRun + task;
    const before = this.#armed.get(key);
    if (before?.dueMs === dueMs) {
      return;
    }
    this.#disarm(key, before);
    const deadline = { run, task, dueMs, queuedIn: 0 };
    this.#armed.set(key, deadline);
    this.#deadlines.add(deadline);
  }

  /** Adds a lease that a start found. */
  restoreLease(parts: LeaseParts): void {
    this.onRestored(this.leases.restore(parts));
  }

  /**
   * Registers all that is open in a run whose events were applied without hooks: read from rows and tail, or made anew.
   * @param isQueued what is ready lies in its queue already; twice there, it would be counted twice.
   */
  adopt(resident: Resident, isQueued: boolean = false): void {
    const { run, number } = resident;
    this.current = number;
    this.#rearmProposals(run);
    this.#rearmRun(run);
    announceObligations(run, this.hooks);
    if (run.kind === "ledger") {
      this.#rearm(run, 0); // A start armed it there, by its row alone.
    }
    for (const task of run.tasks) {
      this.#rearm(run, task.number);
      if (task.status === TaskStatus.READY) {
        if (run.status === RunStatus.RUNNING && !isQueued) {
          this.dispatcher.push(number, run, task.number);
        }
      } else if (
        task.status === TaskStatus.LEASED &&
        this.leases.find(number, task.number) === undefined
      ) {
        this.restoreLease({
          runNumber: number,
          task: task.number,
          leaseVersion: task.leaseVersion,
          leaseMs: specOf(run, task.number)?.leaseMs ?? limits.leaseMsDefault,
          sessionId: task.sessionId,
        });
      }
    }
    this.#parts.schedule();
  }

  /** Forgets what is open in a run that is damaged: it can be asked for nothing. */
  forget(runNumber: number): void {
    for (const lease of [...this.leases.values()]) {
      if (lease.runNumber === runNumber) {
        this.leases.remove(runNumber, lease.task)?.session?.drop(lease.handle);
      }
    }
    for (const [key, deadline] of [...this.#armed]) {
      if (deadline.run === runNumber) {
        this.#disarm(key, deadline);
      }
    }
  }

  /** Calls all timers off. */
  close(): void {
    this.#deadlines.close();
    this.leases.close();
    this.output.close();
  }

  #lease(
    resident: Resident,
    task: number,
    session: Session,
    warmThrough: number | undefined,
  ): boolean {
    const command: Command = {
      kind: "LeaseTask",
      task,
      sessionId: session.id,
      worker: session.worker,
      codeVersion: this.#versionOf(resident.run, task),
    };
    const outcome = this.#parts.decideOn(resident, command);
    const { listener } = session;
    const spec = specOf(resident.run, task);
    const state = resident.run.tasks[task];
    if (!outcome.accepted || listener === undefined || spec === undefined || state === undefined) {
      return false;
    }
    const parts: LeaseParts = {
      runNumber: resident.number,
      task,
      leaseVersion: state.leaseVersion,
      leaseMs: spec.leaseMs,
      sessionId: session.id,
    };
    const lease = this.leases.grant(parts, session, session.nextHandle());
    lease.warmThrough = warmThrough;
    session.leases.set(lease.handle, lease);
    this.#parts.register(listener);
    listener.offer(lease, resident.run);
    return true;
  }

  #versionOf(run: Run, task: number): number {
    const spec = run.codeVersion === undefined ? undefined : plannedSpec(run, task);
    return spec !== undefined && followsCurrent(run, spec)
      ? this.#parts.currentVersion(run.namespace, run.workflow)
      : 0;
  }

  #makeHooks(): ApplyHooks {
    return {
      taskReady: (run, task) => {
        this.dispatcher.push(this.current, run, task);
        this.#parts.schedule();
      },
      taskMoved: (run, task) => {
        this.#rearm(run, task);
        this.output.touch(this.current, task);
        if (this.dispatcher.warm.size > 0) {
          this.#forgetClosedWarm(run, task);
        }
      },
      leaseOver: (run, task, cause) => this.#leaseOver(run, task, cause),
      cancelAsked: (run, task, reason) => this.#cancelAsked(run, task, reason),
      outcomeCame: (run, task) => this.#outcomeCame(run, task),
      proposalMoved: (run) => this.#rearmProposals(run),
      deadlineMoved: (run) => this.#rearmRun(run),
      runClosed: () => {
        this.#parts.closed(this.current);
        this.output.touch(this.current, undefined);
      },
      obliged: (run, obligation) => this.#parts.obliged(this.current, run, obligation),
    };
  }

  #rearm(run: MutableRun, number: number): void {
    const task = run.tasks[number];
    const spec = specOf(run, number);
    const dueMs =
      task === undefined || spec === undefined ? undefined : nextDeadlineMs(run, task, spec);
    this.#armOrDisarm(number, dueMs);
  }

  /** One deadline for all open proposals of a run: when the first of them is over. */
  #rearmProposals(run: MutableRun): void {
    this.#armOrDisarm(proposalsSlot, nextExpiryMs(run));
  }

  #rearmRun(run: MutableRun): void {
    this.#armOrDisarm(runSlot, runDeadlineMs(run));
  }

  #armOrDisarm(slot: number, dueMs: number | undefined): void {
    if (dueMs !== undefined) {
      this.armDeadline(this.current, slot, dueMs);
    } else {
      const key = this.current * tasksPerRun + slot;
      this.#disarm(key, this.#armed.get(key));
    }
  }

  #disarm(key: number, deadline: TaskDeadline | undefined): void {
    if (deadline !== undefined) {
      this.#armed.delete(key);
      this.#deadlines.remove(deadline);
    }
  }

  #fire(deadline: TaskDeadline): void {
    const { run, task } = deadline;
    const key = run * tasksPerRun + task;
    if (this.#armed.get(key) === deadline) {
      this.#armed.delete(key);
      this.#parts.command(run, dueCommand(task));
    }
  }

  #forgetClosedWarm({ tasks }: MutableRun, number: number): void {
    const task = tasks[number];
    if (task !== undefined && task.suspensions > 0 && isTaskClosed(task.status)) {
      this.dispatcher.warm.forget(this.current, number);
    }
  }

  #leaseOver({ incarnation, tasks }: MutableRun, task: number, cause: string): void {
    const lease = this.leases.remove(this.current, task);
    const session = lease?.session;
    if (lease === undefined || session === undefined) {
      return;
    }
    session.drop(lease.handle);
    const { leaseVersion, keepsWarmThrough: seenThrough } = lease;
    if (seenThrough !== undefined && session.listener !== undefined) {
      this.dispatcher.warm.keep(this.current, task, {
        ...{ session, leaseVersion, incarnation, seenThrough },
        generation: tasks[task]?.generation ?? 0,
      });
    }
    if (cause !== "" && session.listener !== undefined) {
      this.#parts.register(session.listener);
      session.listener.lost(lease.handle, cause);
    }
  }

  #outcomeCame(run: MutableRun, task: number): void {
    const lease = this.leases.find(this.current, task);
    const listener = lease?.session?.listener;
    if (lease !== undefined && listener !== undefined) {
      this.#parts.register(listener);
      listener.ended(lease, run);
    }
  }

  /** A worker that is back holds a lease: it may not have heard that it should stop. */
  tellStop(
    run: Run,
    { task: number, handle }: Lease,
    listener: Pick<SessionListener, "cancel">,
  ): void {
    const task = run.tasks[number];
    const spec = plannedSpec(run, number);
    if (task === undefined || spec === undefined || !mustStop(run, task)) {
      return;
    }
    const endsMs = graceDeadlineMs(run, task, spec) ?? 0;
    const graceMs = Math.max(0, endsMs - this.#parts.now());
    listener.cancel(handle, task.stop?.reason ?? run.cancelReason, graceMs);
  }

  #cancelAsked(run: MutableRun, task: number, reason: string): void {
    const lease = this.leases.find(this.current, task);
    const listener = lease?.session?.listener;
    if (lease !== undefined && listener !== undefined) {
      this.#parts.register(listener);
      listener.cancel(
        lease.handle,
        reason,
        plannedSpec(run, task)?.cancelGraceMs ?? limits.cancelGraceMsDefault,
      );
    }
  }
}

/** What is decided when a deadline is due. */
function dueCommand(slot: number): Command {
  switch (slot) {
    case proposalsSlot:
      return { kind: "ExpireProposals" };
    case runSlot:
      return { kind: "ExpireRun" };
    default:
      return { kind: "FireDeadline", task: slot };
  }
}

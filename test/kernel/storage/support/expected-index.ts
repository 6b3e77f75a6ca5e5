import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { TaskSpec } from "@pawl/server/core/plan/task-spec.js";
import type { Run, Task } from "@pawl/server/core/state.js";
import { leaseKey, rangeOfKind, readyKey, timerKey, visibilityKey } from "@pawl/server/log/key.js";
import type { Store } from "@pawl/server/log/store.js";
import { readPages } from "@pawl/server/log/store-scan.js";

const partition = 0;

const settled: ReadonlySet<OperationStatus> = new Set([
  OperationStatus.OBSERVED,
  OperationStatus.REFUSED,
  OperationStatus.ABANDONED,
]);

/** A model of the index of one run, written from the design: how it is listed, what is ready, leased and due. */
export function expectedIndex(run: Run, runNumber: number): string[] {
  const keys: Uint8Array[] = [];
  const listed = (field: string, value: string, number: number): void => {
    const { namespace } = run;
    keys.push(visibilityKey.encode({ partition, namespace, field, value, runNumber, number }));
  };
  if (run.kind === "run") {
    const isPaused = run.status === RunStatus.PAUSED;
    for (const status of isPaused ? [RunStatus.RUNNING, RunStatus.PAUSED] : [run.status]) {
      listed("status", `${status}`, 0);
    }
    listed("workflow", run.workflow, 0);
  }
  for (const { number, status } of run.operations) {
    if (!settled.has(status)) {
      listed("operation-status", `${status}`, number);
    }
  }
  for (const { number, resolvedAtMs } of run.reviews) {
    if (resolvedAtMs === 0) {
      listed("review", "open", number);
    }
  }
  expectInputs(run, listed);
  const dueMs: number[] = [];
  expectProposals(run, listed, dueMs);
  if (run.status === RunStatus.RUNNING || run.status === RunStatus.PAUSED) {
    keys.push(...expectedWork(run, runNumber, dueMs));
  }
  if (dueMs.length > 0) {
    keys.push(timerKey.encode({ partition, dueMs: Math.min(...dueMs), runNumber }));
  }
  return keys.map(hexOf).sort();
}

function expectProposals(
  run: Run,
  listed: (field: string, value: string, number: number) => void,
  dueMs: number[],
): void {
  for (const { number, status, declaration } of run.proposals) {
    listed("proposal", `${status}`, number);
    for (const name of new Set(declaration.from)) {
      listed("proposal-from", `${status} ${name}`, number);
    }
    if (status === ProposalStatus.PENDING || status === ProposalStatus.APPROVED) {
      dueMs.push(declaration.expiresAtMs);
    }
  }
}

/** When the open waits are over by their own time. */
function expectedWaits(run: Run): number[] {
  return run.waits
    .filter(({ closedAtMs, declaration }) => closedAtMs === 0 && declaration.dueAtMs !== 0)
    .map(({ declaration }) => declaration.dueAtMs);
}

/** The plan's specification of a task, with what an operator changed. */
function specNow(run: Run, number: number): TaskSpec | undefined {
  const called = run.called.find(({ spec }) => spec.number === number)?.spec;
  const own = run.plan.tasks.find((spec) => spec.number === number) ?? called;
  return run.tasks[number]?.change?.spec ?? own;
}

function expectInputs(
  run: Run,
  listed: (field: string, value: string, number: number) => void,
): void {
  for (const { number, wait, status } of run.inputs) {
    const subject = run.waits[wait]?.declaration.subject;
    if (status === InputStatus.OPEN && subject?.case === "input") {
      listed("input", "open", number);
      listed("input-addressee", subject.value.addressee, number);
    }
  }
}

/** What is ready and leased; when something is due goes to `dueMs`. */
function expectedWork(run: Run, runNumber: number, dueMs: number[]): Uint8Array[] {
  const keys: Uint8Array[] = [];
  const isPaused = run.status === RunStatus.PAUSED;
  dueMs.push(...(isPaused ? [] : expectedWaits(run)));
  if (run.deadline !== undefined && run.fault === "" && run.cancelRequestedAtMs === 0) {
    dueMs.push(run.deadline.atMs);
  }
  for (const task of run.tasks) {
    const spec = specNow(run, task.number);
    if (spec === undefined) {
      continue;
    }
    const isWaiting = !isPaused && waiting.includes(task.status);
    const isLeased = task.status === TaskStatus.LEASED;
    dueMs.push(...expectedDue(run, task, spec));
    if (isWaiting && task.status === TaskStatus.READY) {
      const { number, readyAtMs: sequence } = task;
      const queue = `${spec.queue}\0${spec.kind}`;
      const { namespace } = run;
      const priority = 9 - spec.priority;
      keys.push(
        readyKey.encode({ partition, namespace, queue, priority, sequence, runNumber, number }),
      );
    }
    if (isLeased) {
      keys.push(leaseKey.encode({ partition, runNumber, number: task.number }));
    }
  }
  return keys;
}

/** When something about a task is over. */
function expectedDue(run: Run, task: Task, spec: TaskSpec): number[] {
  const dueMs: number[] = [];
  const isPaused = run.status === RunStatus.PAUSED;
  const isWaiting = !isPaused && waiting.includes(task.status);
  const isLeased = task.status === TaskStatus.LEASED;
  const due = (from: number, length: number | undefined, applies: boolean): void => {
    if (length !== undefined && applies) {
      dueMs.push(from + length);
    }
  };
  due(task.firstReadyAtMs, spec.scheduleToCloseMs, isWaiting || (isLeased && !isPaused));
  due(task.readyAtMs, spec.scheduleToStartMs, isWaiting && task.status === TaskStatus.READY);
  due(task.dueAtMs, 0, isWaiting && task.status === TaskStatus.BACKOFF);
  due(task.leasedAtMs, spec.startToCloseMs, isLeased);
  const asked = [run.cancelRequestedAtMs, task.stop?.atMs ?? 0].filter((atMs) => atMs !== 0);
  const isStopping = asked.length > 0 && task.rollsBack === undefined;
  due(Math.min(...asked), spec.cancelGraceMs, isLeased && isStopping);
  return dueMs;
}

const waiting: readonly TaskStatus[] = [TaskStatus.READY, TaskStatus.BACKOFF, TaskStatus.SUSPENDED];

/** All index rows of a store. */
export async function storedIndex(store: Store): Promise<string[]> {
  const keys: string[] = [];
  for (const { kind } of [visibilityKey, timerKey, readyKey, leaseKey]) {
    for await (const page of readPages(store, rangeOfKind(kind, partition))) {
      for (const { key } of page) {
        keys.push(hexOf(key));
      }
    }
  }
  return keys.sort();
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

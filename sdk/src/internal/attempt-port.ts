import type { ProposeActionRequest } from "@pawl/proto/v1/approval_service_pb.js";
import type { Failure } from "@pawl/proto/v1/failure_pb.js";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import type { Plan, PlanTask } from "@pawl/proto/v1/plan_pb.js";
import type { Rollback } from "@pawl/proto/v1/rollback_pb.js";
import type {
  ChildItem,
  EmitItem,
  ObligationItem,
  StopCall,
  TaskWait,
} from "@pawl/proto/v1/worker_service_pb.js";
import type { Lease } from "./lease.js";
import type { Ledger } from "./perform.js";
import type { ItemAnswer } from "./work-item.js";

/** What is said about calls in one item. */
export interface CallOrders {
  readonly tasks?: PlanTask[];
  readonly cancels?: string[];
  readonly stops?: StopCall[];
  readonly abandons?: string[];
}

/** What one recorded step is, on its way to the kernel. */
export interface StepToRecord {
  readonly name: string;
  readonly key: string | undefined;
  readonly outcome: { readonly value: Payload } | { readonly failure: Failure };
  readonly isRead: boolean;
  /** Set for a rollback. */
  readonly rollback?: Rollback;
  /** Name under which its value is published. Absent: it is not. */
  readonly publishes?: string;
  /** Number of the update that it answers. Absent: none. */
  readonly answers?: number;
}

/** A revision of a plan on its way to the kernel. */
export interface RevisionToRecord {
  readonly record: string;
  readonly key: string | undefined;
  readonly seenThrough: number;
  readonly plan: Plan;
  readonly reason: string;
  /** 0: any. */
  readonly expectedPlanVersion: number;
}

/** What an attempt asks of the worker that runs it. */
export interface AttemptPort {
  /** Sends a step; `settle` is given the kernel's answer. There are many steps: none has a promise of its own. */
  recordStep(
    lease: Lease,
    step: StepToRecord,
    seenThrough: number,
    settle: (answer: ItemAnswer) => void,
  ): void;
  /** Sends something to another run; resolves with the kernel's answer. */
  tellRun(lease: Lease, item: ObligationItem, seenThrough: number): Promise<ItemAnswer>;
  /** Starts a child run; resolves with the kernel's answer. */
  startChild(lease: Lease, item: ChildItem, seenThrough: number): Promise<ItemAnswer>;
  /** Brings in content of a run that is stored apart. */
  load(payload: Payload | undefined, runId: string): Promise<Payload | undefined>;
  /** Sends progress. */
  progress(lease: Lease, progress: Payload): void;
  /** Sends live output. */
  emit(lease: Lease, item: EmitItem): void;
  /** Ends the attempt and begins the next incarnation of its run; resolves with the kernel's answer. What waits took after `seenThrough` goes over to it. */
  continueRun(lease: Lease, input: Payload | undefined, seenThrough: number): Promise<ItemAnswer>;
  /** Calls tasks, and gives up earlier calls; resolves with the kernel's answer. */
  call(lease: Lease, orders: CallOrders): Promise<ItemAnswer>;
  /** Begins waits while the lease stays; resolves with the kernel's answer. */
  declareWaits(lease: Lease, waits: TaskWait[]): Promise<ItemAnswer>;
  /** A ledger without a lease, for scope `namespace`. */
  namespaceLedger(signal: AbortSignal): Ledger;
  /** Proposes an action under a lease; the answer is the id of the proposal. */
  propose(lease: Lease, request: ProposeActionRequest, signal: AbortSignal): Promise<string>;
  /** Revises the plan of the lease's run, and records that as a step; the answer is the plan version. */
  proposeRevision(lease: Lease, revision: RevisionToRecord, signal: AbortSignal): Promise<number>;
  /** Calls back when the code has done what it can do now: once for all attempts of the worker that ask for it meanwhile. */
  soon(run: () => void): void;
  /** Where the code is inside of, when it is inside a step: `undefined` outside. */
  currentStep(): StepFrame | undefined;
  /** Runs code inside a step. */
  insideStep<T>(frame: StepFrame, run: () => T): T;
}

/** A step whose function is running. */
export interface StepFrame {
  /** The attempt it belongs to. */
  readonly attempt: object;
  /** Name of the step, for errors. */
  readonly step: string;
}

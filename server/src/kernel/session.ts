import type { SessionHello, SessionListener } from "./kernel-api.js";
import type { Lease } from "./lease-table.js";

/** Handles are uint32 on the wire, and 0 names none. */
const handleMax = 0xffff_ffff;

/** A worker session as the kernel keeps it: it outlives its connections as long as it holds leases. */
export class Session {
  readonly id: string;
  readonly namespace: string;
  worker: string;
  /** What it serves, as it said. */
  serves: SessionHello["serves"] = [];
  /** Keys of the ready queues it serves; those of workflows that follow the current version included, where it serves that one. */
  queueKeys: readonly string[] = [];
  credits = 0;
  isDraining = false;
  /** False while its connection does not read what it is sent. */
  hasRoom = true;
  /** The connection; undefined while there is none. */
  listener: SessionListener | undefined;
  /** The connection that is being made: the runs of its leases are read. Only the last one comes about. */
  connecting: SessionListener | undefined;
  /** Open leases by handle. */
  readonly leases: Map<number, Lease> = new Map();
  /** Called when its last lease has ended while it is not connected: nothing need be remembered of it. */
  onForgotten: () => void = () => {};
  #lastHandle = 0;

  constructor(id: string, namespace: string, worker: string) {
    this.id = id;
    this.namespace = namespace;
    this.worker = worker;
  }

  /** True when it may be given a task. */
  get canTake(): boolean {
    return this.credits > 0 && this.hasRoom && !this.isDraining && this.listener !== undefined;
  }

  /** A handle that no open lease of this session has. They begin anew after the last one of 32 bits, weeks apart. */
  nextHandle(): number {
    do {
      this.#lastHandle = this.#lastHandle === handleMax ? 1 : this.#lastHandle + 1;
    } while (this.leases.has(this.#lastHandle));
    return this.#lastHandle;
  }

  /** The worker knows another lease by this handle, one that is lost: no new lease may get it. */
  reserve(handle: number): void {
    this.#lastHandle = Math.max(this.#lastHandle, handle);
  }

  /** A lease of it has ended. */
  drop(handle: number): void {
    this.leases.delete(handle);
    this.forgetWhenIdle();
  }

  /** Has it forgotten when it neither holds a lease nor is connected. */
  forgetWhenIdle(): void {
    const isConnected = this.listener !== undefined || this.connecting !== undefined;
    if (this.leases.size === 0 && !isConnected) {
      this.onForgotten();
    }
  }

  /** Takes a lease back under the handle that the worker knows it by. */
  adopt(lease: Lease, handle: number): void {
    lease.session = this;
    lease.handle = handle;
    this.leases.set(handle, lease);
    this.#lastHandle = Math.max(this.#lastHandle, handle);
  }
}

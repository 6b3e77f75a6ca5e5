import type { Rejection } from "../core/rejection.js";
import { unavailable } from "./refusals.js";

/** A call or stream that is open. */
export interface OpenCall {
  /** Method of a stream both ways. Absent: any other call. */
  readonly method?: string;
  /** The kernel goes away: end soon by yourself, with everything said that can still be said. */
  drain(): void;
  /** End now, with this refusal. */
  abort(rejection: Rejection): void;
}

/** Where the edge stands. It only ever moves forward. */
export type LifecycleState = "serving" | "draining" | "failed";

/**
 * What is open on the edge, so that a shutdown ends everything in time and a failed store ends everything at once.
 */
export class Lifecycle {
  readonly #calls: Set<OpenCall> = new Set();
  readonly #listeners: Set<() => void> = new Set();
  readonly #idle: (() => void)[] = [];
  #refusal: Rejection | undefined;
  #state: LifecycleState = "serving";
  #isHeld = false;

  get state(): LifecycleState {
    return this.#state;
  }

  /** True once the kernel is read-only: it serves, but takes no work. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Calls that are open. */
  get openCalls(): number {
    return this.#calls.size;
  }

  /** Why new work is refused, told anew for each call; undefined while it is taken. */
  get refusal(): Rejection | undefined {
    return this.#refusal === undefined ? undefined : { ...this.#refusal };
  }

  /** Streams and calls that are open. */
  gauges(): { readonly streams: ReadonlyMap<string, number>; readonly calls: number } {
    const streams = new Map<string, number>();
    let calls = 0;
    for (const { method } of this.#calls) {
      if (method === undefined) {
        calls++;
      } else {
        streams.set(method, (streams.get(method) ?? 0) + 1);
      }
    }
    return { streams, calls };
  }

  add(call: OpenCall): void {
    this.#calls.add(call);
  }

  remove(call: OpenCall): void {
    this.#calls.delete(call);
    if (this.#calls.size === 0) {
      for (const resolve of this.#idle.splice(0)) {
        resolve();
      }
    }
  }

  /** Told whenever where it stands may have changed. Gives back how to stop listening. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Refuses new work and asks what is open to end. */
  drain(): void {
    if (this.#state === "serving") {
      this.#move("draining", unavailable("it is going away"));
    }
    for (const call of [...this.#calls]) {
      call.drain();
    }
  }

  /** The kernel is read-only from now on. */
  hold(): void {
    this.#isHeld = true;
    this.#tell();
  }

  /** Something stored may have been found damaged: the kernel serves on, and whoever watches its health is told. */
  scrubbed(): void {
    this.#tell();
  }

  /** The store failed: nothing that was not yet answered ever will be. */
  fail(error: Error): void {
    const rejection = unavailable(`its store failed (${error.message})`);
    this.#move("failed", rejection);
    // Whoever watches the health is told that it fails before the watch itself ends.
    setImmediate(() => this.abortAll(rejection));
  }

  /** Ends everything that is open. */
  abortAll(rejection: Rejection = this.#refusal ?? unavailable("it is going away")): void {
    for (const call of [...this.#calls]) {
      call.abort(rejection);
    }
  }

  /** Resolves once nothing is open. */
  idle(): Promise<void> {
    return this.#calls.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.#idle.push(resolve);
        });
  }

  #move(state: LifecycleState, refusal: Rejection): void {
    this.#state = state;
    this.#refusal = refusal;
    this.#tell();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) {
      listener();
    }
  }
}

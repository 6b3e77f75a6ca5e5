import { TicketError } from "./ticket-error.js";
import type { HeldCall, HoldPoint, HoldRequest, ReleaseAction, SinkMode } from "./wire.js";

/** The call that comes to a hold point. */
export interface PassingCall {
  readonly mode: SinkMode;
  /** What the call is counted by: key, or title. */
  readonly key: string;
  /** Whether the caller's connection has closed. */
  readonly isClientGone: () => boolean;
}

interface ArmedHold {
  readonly holdId: string;
  readonly request: HoldRequest;
}

interface Held {
  readonly holdId: string;
  readonly point: HoldPoint;
  readonly call: PassingCall;
  readonly resolve: (action: ReleaseAction) => void;
}

/**
 * Test hooks: stop a call exactly before or after its effect, so that a crash test can kill the
 * caller there. Kept in memory only; a restart of the service knows no holds.
 */
export class Holds {
  #armed: ArmedHold[] = [];
  readonly #held = new Map<string, Held>();
  readonly #watchers = new Set<() => void>();
  #lastId = 0;
  #closed = false;

  /** The next matching call stops. Each hold stops one call. Returns the hold's id. */
  arm(request: HoldRequest): string {
    this.#lastId += 1;
    const holdId = `hold-${this.#lastId}`;
    this.#armed.push({ holdId, request });
    return holdId;
  }

  /** Forgets every hold that no call has met yet; returns how many. */
  disarm(): number {
    const count = this.#armed.length;
    this.#armed = [];
    return count;
  }

  /** Passes a hold point: resolves at once unless a hold matches, else when it is released. */
  pass(point: HoldPoint, call: PassingCall): Promise<ReleaseAction> {
    const hold = this.#armed.find(({ request }) => matches(request, point, call));
    if (hold === undefined || this.#closed) return Promise.resolve("go");
    this.#armed = this.#armed.filter((other) => other !== hold);
    return new Promise((resolve) => {
      this.#held.set(hold.holdId, { holdId: hold.holdId, point, call, resolve });
      this.#wakeWatchers();
    });
  }

  /** The calls that stand still now, all or that of one hold. */
  list(holdId?: string): readonly HeldCall[] {
    return [...this.#held.values()]
      .filter((held) => holdId === undefined || held.holdId === holdId)
      .map(({ point, call, holdId: id }) => ({
        holdId: id,
        point,
        mode: call.mode,
        key: call.key,
        clientGone: call.isClientGone(),
      }));
  }

  /** Like {@link list}, but waits up to `waitMs` while the list would be empty. */
  async waitUntilHeld(waitMs: number, holdId?: string): Promise<readonly HeldCall[]> {
    const deadlineMs = performance.now() + waitMs;
    let held = this.list(holdId);
    while (held.length === 0 && !this.#closed) {
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0) break;
      await this.#nextHold(leftMs);
      held = this.list(holdId);
    }
    return held;
  }

  /** Lets held calls go on or drops them: all, or that of one hold. Throws 404 `TICKET_HOLD_UNKNOWN`. */
  release(action: ReleaseAction, holdId?: string): number {
    const chosen = [...this.#held.values()].filter(
      (held) => holdId === undefined || held.holdId === holdId,
    );
    if (holdId !== undefined && chosen.length === 0) {
      throw new TicketError(
        `expected a call that stands at ${holdId}, but there is none; ask GET /held first`,
        { code: "TICKET_HOLD_UNKNOWN", status: 404, details: { holdId } },
      );
    }
    for (const held of chosen) {
      this.#held.delete(held.holdId);
      held.resolve(action);
    }
    return chosen.length;
  }

  /** The service ends: held calls are dropped, waits answered, and no call is held any more. */
  close(): void {
    this.#closed = true;
    this.disarm();
    this.release("drop");
    this.#wakeWatchers();
  }

  #nextHold(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#watchers.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, waitMs);
      this.#watchers.add(wake);
    });
  }

  #wakeWatchers(): void {
    for (const wake of [...this.#watchers]) wake();
  }
}

function matches(request: HoldRequest, point: HoldPoint, call: PassingCall): boolean {
  return (
    request.point === point &&
    (request.mode === undefined || request.mode === call.mode) &&
    (request.key === undefined || request.key === call.key)
  );
}

import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import type { Prng } from "./prng.js";
import type { Scheduler } from "./scheduler.js";
import type { SinkSettings } from "./settings.js";

/** Something that a sink did. */
export interface Effect {
  readonly key: string;
  readonly intentId: string;
  readonly atMs: number;
  /** What the sink answers for it. */
  readonly receipt: string;
}

/** A call of a sink, as its caller makes it. */
export interface SinkCall {
  readonly kind: SinkKind;
  readonly key: string;
  readonly intentId: string;
  /** When the call must be over, in virtual time. */
  readonly deadlineMs: number;
  /** How long after its deadline the call may still take effect. */
  readonly settleMs: number;
  /** How long an idempotent sink remembers a key. */
  readonly windowMs: number;
}

/** How a call ended for its caller; `lost`: it hears nothing. */
export type CallEnd =
  | { readonly case: "result"; readonly receipt: string }
  | { readonly case: "refused" }
  | { readonly case: "notSent" }
  | { readonly case: "lost" };

/**
 * The outside systems. They know nothing of the kernel, keep books of their own, and are never crashed: what they did, they did.
 */
export class Sinks {
  /** True: calls and answers arrive. */
  isCalm = false;
  /** Told of each call when it is made. */
  onCall: (call: SinkCall) => void = () => {};
  readonly effects: Effect[] = [];
  readonly #scheduler: Scheduler;
  readonly #prng: Prng;
  readonly #settings: SinkSettings;
  readonly #note: (text: string) => void;
  readonly #refused = new Map<string, boolean>();
  readonly #remembered = new Map<string, { readonly receipt: string; readonly untilMs: number }>();

  constructor(
    scheduler: Scheduler,
    prng: Prng,
    parts: { readonly settings: SinkSettings; readonly note: (text: string) => void },
  ) {
    this.#scheduler = scheduler;
    this.#prng = prng;
    this.#settings = parts.settings;
    this.#note = parts.note;
  }

  /** Calls a sink. `end` hears how it ended, if anything is heard at all; it may come after the deadline. */
  call(call: SinkCall, end: (how: CallEnd) => void): void {
    const { notSentShare } = this.#settings;
    this.onCall(call);
    if (!this.isCalm && this.#prng.chance(notSentShare)) {
      end({ case: "notSent" });
      return;
    }
    if (this.#isLost()) {
      this.#note(`sink: call ${call.intentId} is lost`);
      return;
    }
    // A call sent in time may take effect until its deadline and the settle time are over.
    const latestMs = call.deadlineMs + call.settleMs - this.#scheduler.nowMs;
    const awayMs = Math.min(this.#prng.around(this.#settings.callMs), Math.max(0, latestMs));
    this.#scheduler.after(awayMs, () => {
      const how = this.#arrive(call);
      this.#note(`sink: call ${call.intentId} of ${call.key}: ${how.case}`);
      if (!this.#isLost()) {
        this.#scheduler.after(this.#prng.around(this.#settings.callMs), () => end(how));
      }
    });
  }

  /** Looks up whether an effect happened. */
  lookUp(key: string, end: (found: Effect | "absent" | "unknown") => void): void {
    this.#scheduler.after(this.#prng.around(this.#settings.callMs), () => {
      const isUnsure = !this.isCalm && this.#prng.chance(this.#settings.unsureShare);
      const found = isUnsure ? "unknown" : (this.truth(key) ?? "absent");
      this.#scheduler.after(this.#prng.around(this.#settings.callMs), () => end(found));
    });
  }

  /** What really happened under a key, for a person who looks. */
  truth(key: string): Effect | undefined {
    return this.effects.find((effect) => effect.key === key);
  }

  #isLost(): boolean {
    return !this.isCalm && this.#prng.chance(this.#settings.lostShare);
  }

  #arrive(call: SinkCall): CallEnd {
    const { key, kind } = call;
    const { nowMs } = this.#scheduler;
    if (kind === SinkKind.IDEMPOTENT) {
      const known = this.#remembered.get(key);
      if (known !== undefined && nowMs <= known.untilMs) {
        return { case: "result", receipt: known.receipt };
      }
    }
    if (this.#isRefused(key)) {
      return { case: "refused" };
    }
    const receipt = `receipt ${this.effects.length} of ${key}`;
    this.effects.push({ key, intentId: call.intentId, atMs: nowMs, receipt });
    this.#remembered.set(key, { receipt, untilMs: nowMs + call.windowMs });
    return { case: "result", receipt };
  }

  /** A sink says no to a key always or never. */
  #isRefused(key: string): boolean {
    const known = this.#refused.get(key);
    if (known !== undefined) {
      return known;
    }
    const isRefused = this.#prng.chance(this.#settings.refusedShare);
    this.#refused.set(key, isRefused);
    return isRefused;
  }
}

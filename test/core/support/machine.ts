import { decodeEvent, encodeEvent } from "@pawl/proto/log/v1/event_wire.js";
import { silentHooks } from "@pawl/server/core/apply/hooks.js";
import { apply, applyFirst, compileRecordedPlan, emptyLedger } from "@pawl/server/core/apply.js";
import type { Command, StartRun } from "@pawl/server/core/command.js";
import type { DecideContext } from "@pawl/server/core/context.js";
import { decideFollowUp } from "@pawl/server/core/decide/follow-up.js";
import { decideStartRun } from "@pawl/server/core/decide/start-run.js";
import { decide } from "@pawl/server/core/decide.js";
import type { Decision } from "@pawl/server/core/decision.js";
import type { EventBody, EventMeta } from "@pawl/server/core/event.js";
import type { MutableRun } from "@pawl/server/core/state.js";
import { contextAt } from "./context.js";
import { START_MS } from "./values.js";

/** An event with what is known besides its body. */
export interface Recorded {
  readonly body: EventBody;
  readonly meta: EventMeta;
}

/** Makes a state from recorded events, as a start after a crash does. */
export function replay(events: readonly Recorded[]): MutableRun {
  const [first, ...rest] = events;
  if (first === undefined) {
    throw new Error("nothing to replay");
  }
  const run = applyFirst(first.body, first.meta, compileRecordedPlan, silentHooks);
  for (const { body, meta } of rest) {
    apply(run, body, meta, silentHooks);
  }
  return run;
}

/** The events as they come back from the disk. */
export function throughDisk(events: readonly Recorded[]): Recorded[] {
  return events.map(({ body, meta }) => {
    const decoded = decodeEvent(encodeEvent({ deltaMs: 0, body })).body;
    if (decoded.case === undefined) {
      throw new Error(`the event ${body.case} was lost on its way`);
    }
    return { body: decoded, meta };
  });
}

/** Called after every applied event. */
export type EventWatcher = (run: MutableRun, event: Recorded) => void;

/** One aggregate as the kernel drives it: decide, apply, follow up; and the log of what it recorded. */
export class Machine {
  /** Undefined: a ledger before its first event. */
  run: MutableRun | undefined;
  readonly events: Recorded[] = [];
  /** Number of events at the end of each commit. */
  readonly commits: number[] = [];
  nowMs: number = START_MS;
  private readonly watch: EventWatcher;

  constructor(watch: EventWatcher = () => undefined) {
    this.watch = watch;
  }

  /** The state; of a ledger before its first event, the empty one. */
  get state(): MutableRun {
    return this.run ?? emptyLedger();
  }

  /** Starts a run. */
  start(command: StartRun, parts: Partial<DecideContext> = {}): Decision {
    return this.commit(decideStartRun(this.run, command, this.context(parts)));
  }

  /** Decides a command, applies what follows, and keeps it as one commit. */
  do(command: Exclude<Command, StartRun>, parts: Partial<DecideContext> = {}): Decision {
    return this.commit(decide(this.state, command, this.context(parts)));
  }

  /** What `decide` would get now. */
  context(parts: Partial<DecideContext> = {}): DecideContext {
    // Another version is current again and again, and at times none.
    const currentVersion = (): number => Math.floor(this.nowMs / 1000) % 4;
    return contextAt(this.nowMs, { currentVersion, ...parts });
  }

  /** Loses the last commits, as a power cut does with those that were not durable. */
  crash(lostCommits: number): void {
    const kept = this.commits[this.commits.length - 1 - lostCommits] ?? this.commits[0] ?? 0;
    this.events.length = kept;
    while ((this.commits.at(-1) ?? 0) > kept) {
      this.commits.pop();
    }
    this.run = replay(throughDisk(this.events));
  }

  private commit(decision: Decision): Decision {
    const decided = decision.accepted ? decision.events : (decision.evidence ?? []);
    if (decided.length === 0) {
      return decision;
    }
    for (let events = decided; events.length > 0; events = decideFollowUp(this.state)) {
      for (const body of events) {
        this.record(body);
      }
    }
    this.commits.push(this.events.length);
    return decision;
  }

  private record(body: EventBody): void {
    const event: Recorded = { body, meta: { atMs: this.nowMs, number: this.events.length + 1 } };
    if (this.run === undefined) {
      this.run = applyFirst(body, event.meta, compileRecordedPlan, silentHooks);
    } else {
      apply(this.run, body, event.meta, silentHooks);
    }
    this.events.push(event);
    this.watch(this.run, event);
  }
}

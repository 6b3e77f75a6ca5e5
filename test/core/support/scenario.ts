import { type ApplyHooks, silentHooks } from "@pawl/server/core/apply/hooks.js";
import { apply, applyFirst, compileRecordedPlan, emptyLedger } from "@pawl/server/core/apply.js";
import type { Command, StartRun } from "@pawl/server/core/command.js";
import type { DecideContext } from "@pawl/server/core/context.js";
import { decideFollowUp } from "@pawl/server/core/decide/follow-up.js";
import { decideStartRun } from "@pawl/server/core/decide/start-run.js";
import { decide } from "@pawl/server/core/decide.js";
import type { Decision, IntentReply, Reply } from "@pawl/server/core/decision.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { findUnfinished, findViolations } from "@pawl/server/core/invariants.js";
import type { CompiledPlan } from "@pawl/server/core/plan/task-spec.js";
import type { RejectionDetail, RejectionReason } from "@pawl/server/core/rejection.js";
import type { MutableRun } from "@pawl/server/core/state.js";
import { expect } from "vitest";
import { startRun } from "./commands.js";
import { contextAt } from "./context.js";
import type { Recorded } from "./machine.js";
import { planOf, type TaskParts } from "./plans.js";
import { START_MS } from "./values.js";

/** What a test may say about the one who decides. */
export type ContextParts = Partial<Omit<DecideContext, "nowMs" | "sha256">>;

/**
 * Given events, when a command, then events or a rejection. Times are ms after the start of the run. Every given event must leave a
 * sound state, no `when` may change it, and what `records` expects is applied with all that must follow.
 */
export class Scenario {
  /** Undefined before the first event. */
  run: MutableRun | undefined;
  /** All that was applied. */
  readonly events: Recorded[] = [];
  private nowMs = START_MS;
  private readonly hooks: ApplyHooks;

  private constructor(hooks: ApplyHooks) {
    this.hooks = hooks;
  }

  /** A run of this plan that has just started. */
  static started(plan: CompiledPlan, hooks: ApplyHooks = silentHooks): Scenario {
    const scenario = new Scenario(hooks);
    const decision = decideStartRun(undefined, startRun(plan), scenario.context());
    if (!decision.accepted) {
      throw new Error("the start is refused");
    }
    return scenario.given(...decision.events);
  }

  /** A run of one task `only` that has just started. */
  static ofOne(parts: TaskParts = {}): Scenario {
    return Scenario.started(planOf({ only: parts }, "only"));
  }

  /** Nothing yet: for a start, or an operation of scope NAMESPACE. */
  static empty(): Scenario {
    return new Scenario(silentHooks);
  }

  /** The state. */
  get state(): MutableRun {
    return this.run ?? emptyLedger();
  }

  /** Lets time pass until `ms` after the start of the run. */
  at(ms: number): this {
    this.nowMs = START_MS + ms;
    return this;
  }

  /** Applies events. */
  given(...events: readonly EventBody[]): this {
    for (const event of events) {
      this.apply(event);
    }
    return this;
  }

  /** Decides a command. */
  when(command: Command, parts: ContextParts = {}): When {
    const before = structuredClone(this.run);
    const context = this.context(parts);
    const decision =
      command.kind === "StartRun"
        ? decideStartRun(this.run, command, context)
        : decide(this.state, command, context);
    expect(this.run, "decide changed the state").toEqual(before);
    return new When(this, decision);
  }

  /** Applies events with all that must follow from them; the answer is what followed. */
  commit(events: readonly EventBody[]): EventBody[] {
    this.given(...events);
    const followed: EventBody[] = [];
    for (
      let next = decideFollowUp(this.state);
      next.length > 0;
      next = decideFollowUp(this.state)
    ) {
      this.given(...next);
      followed.push(...next);
    }
    expect(findUnfinished(this.state)).toEqual([]);
    return followed;
  }

  private apply(event: EventBody): void {
    const meta = { atMs: this.nowMs, number: (this.run?.eventCount ?? 0) + 1 };
    if (this.run === undefined) {
      this.run = applyFirst(event, meta, compileRecordedPlan, this.hooks);
    } else {
      apply(this.run, event, meta, this.hooks);
    }
    this.events.push({ body: event, meta });
    expect(findViolations(this.run), `after ${event.case}`).toEqual([]);
  }

  private context(parts: ContextParts = {}): DecideContext {
    return contextAt(this.nowMs, parts);
  }
}

/** What was decided, to be compared. */
export class When {
  readonly decision: Decision;
  private readonly scenario: Scenario;

  constructor(scenario: Scenario, decision: Decision) {
    this.scenario = scenario;
    this.decision = decision;
  }

  /** Accepted with exactly these events, which are then applied. */
  records(...events: readonly EventBody[]): After {
    const { decision } = this;
    expect(decision).toMatchObject({ accepted: true });
    const decided = decision.accepted ? decision.events : [];
    expect(decided).toEqual(events);
    const followed = this.scenario.commit(decided);
    return new After(
      this.scenario,
      decision.accepted ? decision.reply : { existing: false },
      followed,
    );
  }

  /** Accepted without events, said to exist. */
  isExisting(): After {
    expect(this.decision).toMatchObject({ accepted: true, events: [], reply: { existing: true } });
    return new After(
      this.scenario,
      this.decision.accepted ? this.decision.reply : { existing: true },
      [],
    );
  }

  /** Refused for this reason, in these terms. */
  rejects(reason: RejectionReason, detail?: RejectionDetail["value"]): void {
    expect(this.decision).toMatchObject({ accepted: false, rejection: { reason } });
    if (!this.decision.accepted) {
      const { rejection } = this.decision;
      expect(rejection.message).toMatch(/^Expected .+, but .+\. Next: .+\.$/s);
      if (detail !== undefined) {
        expect(rejection.detail?.value).toEqual(detail);
      }
    }
  }

  /** One word for the outcome: the events, `existing`, `nothing`, or the reason of the refusal; with the answer of an intent. */
  summary(): string {
    const { decision } = this;
    if (!decision.accepted) {
      return decision.rejection.reason;
    }
    const { events, reply } = decision;
    const happened = events.length > 0 ? events.map((event) => event.case).join(" ") : "";
    const said = happened === "" ? (reply.existing ? "existing" : "nothing") : happened;
    return reply.intent === undefined ? said : `${said}: ${reply.intent.case}`;
  }
}

/** What is so afterwards. */
export class After {
  readonly reply: Reply;
  /** The events that had to follow in the same commit. */
  readonly followed: readonly EventBody[];
  private readonly scenario: Scenario;

  constructor(scenario: Scenario, reply: Reply, followed: readonly EventBody[]) {
    this.scenario = scenario;
    this.reply = reply;
    this.followed = followed;
  }

  /** The caller of the intent is told this. */
  answering(intent: IntentReply): this {
    expect(this.reply.intent).toEqual(intent);
    return this;
  }

  /** These events followed. */
  andFollows(...events: readonly EventBody[]): this {
    expect(this.followed).toEqual(events);
    return this;
  }

  /** The scenario goes on from here. */
  go(): Scenario {
    return this.scenario;
  }
}

/** Anything but StartRun. */
export type RunCommand = Exclude<Command, StartRun>;

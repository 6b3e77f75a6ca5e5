import { fromBinary } from "@bufbuild/protobuf";
import { EventSchema, LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { encodeEvent } from "@pawl/proto/log/v1/event_wire.js";
import { type RecoveryClass, RecoveryClassSchema } from "@pawl/proto/v1/recovery_pb.js";
import { type RecoveryReport, RecoveryStory } from "@pawl/server/core/view/recovery-story.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  endLease,
  failTask,
  intend,
  leaseTask,
  observeResult,
  startRun,
} from "../core/support/commands.js";
import { Machine } from "../core/support/machine.js";
import { planOf } from "../core/support/plans.js";
import { findDifferences, type ReportedReport } from "../support/checker/compare.js";
import type { ExportedEvent } from "../support/checker/read-log.js";
import { ledgerMoves, onwardMoves } from "./support/moves.js";
import { plan, startOf } from "./support/starts.js";
import { play, type Turn, withCrashes, withRestarts } from "./support/turns.js";

/** Runs of each property; ten times as many with `PROPERTY_FACTOR=10`. */
const numRuns = 300 * Number(process.env["PROPERTY_FACTOR"] ?? 1);

/** The log as it is exported: the stored bytes, read by the generated code. */
function exported(machine: Machine): ExportedEvent[] {
  return machine.events.map(({ body, meta }) => ({
    number: meta.number,
    sequence: meta.number,
    event: fromBinary(EventSchema, encodeEvent({ deltaMs: 0, body })),
  }));
}

function tell(
  machine: Machine,
  options: { readonly incarnation: number; readonly since?: number },
): RecoveryReport | undefined {
  const story = new RecoveryStory(options);
  for (const { body, meta } of machine.events) {
    story.add(body, meta, meta.number);
  }
  return story.finish({ nowMs: machine.nowMs });
}

function nameOf(kind: RecoveryClass): string {
  return RecoveryClassSchema.value[kind]?.localName ?? "";
}

function reported({ lines, totals }: RecoveryReport): ReportedReport {
  return {
    lines: lines.map((line) => ({ ...line, class: nameOf(line.class) })),
    totals: totals.map((total) => ({ ...total, class: nameOf(total.class) })),
  };
}

function played(chosen: Parameters<typeof startOf>[0], turns: readonly Turn[]): Machine {
  const machine = new Machine();
  machine.start(startOf(chosen));
  // The checker knows nothing of revised plans yet.
  play(
    machine,
    turns.filter((turn) => !("verb" in turn && turn.verb === "revise")),
  );
  return machine;
}

/** Which incarnation each event is of. */
function incarnations(machine: Machine): number[] {
  let incarnation = 1;
  return machine.events.map(({ body }) => {
    if (body.case === "runRestarted" || body.case === "runContinued") {
      incarnation = body.value.incarnation;
    }
    return incarnation;
  });
}

describe("the report of a run, against what an independent checker makes of the log", () => {
  test("is equal for every incarnation, whatever was done and lost", () => {
    fc.assert(
      fc.property(plan, withRestarts(withCrashes(onwardMoves)), (chosen, turns) => {
        const machine = played(chosen, turns);
        const log = exported(machine);
        for (let incarnation = 0; incarnation <= machine.state.incarnation; incarnation++) {
          const report = tell(machine, { incarnation });
          if (report === undefined) throw new Error(`no report of incarnation ${incarnation}`);
          const which = { incarnation, since: 0 };
          expect(findDifferences(log, which, reported(report))).toEqual([]);
        }
      }),
      { numRuns },
    );
  });

  test("is equal for what was there at any event, and what became of it since", () => {
    fc.assert(
      fc.property(
        plan,
        withRestarts(withCrashes(onwardMoves)),
        fc.nat(),
        (chosen, turns, place) => {
          const machine = played(chosen, turns);
          const since = 1 + (place % machine.events.length);
          const report = tell(machine, { incarnation: 0, since });
          if (report === undefined) throw new Error("no report");
          const which = { incarnation: incarnations(machine)[since - 1] ?? 0, since };
          expect(report.incarnation).toBe(which.incarnation);
          expect(findDifferences(exported(machine), which, reported(report))).toEqual([]);
        },
      ),
      { numRuns },
    );
  });

  test("is equal for an operation that belongs to no run", () => {
    fc.assert(
      fc.property(withCrashes(ledgerMoves), (turns) => {
        const machine = new Machine();
        play(machine, turns);
        const report = tell(machine, { incarnation: 0 });
        if (report !== undefined) {
          const which = { incarnation: 0, since: 0 };
          expect(findDifferences(exported(machine), which, reported(report))).toEqual([]);
        }
      }),
      { numRuns },
    );
  });

  test("counts each thing of the other incarnations once, in its class", () => {
    fc.assert(
      fc.property(plan, withRestarts(onwardMoves), (chosen, turns) => {
        const machine = played(chosen, turns);
        const sums = new Map<RecoveryClass, number>();
        for (let incarnation = 1; incarnation < machine.state.incarnation; incarnation++) {
          for (const line of tell(machine, { incarnation })?.lines ?? []) {
            sums.set(line.class, (sums.get(line.class) ?? 0) + 1);
          }
        }
        const others = tell(machine, { incarnation: 0 })?.others ?? [];
        const told = others.map(
          ({ class: kind, tasks, operations }) => [kind, tasks + operations] as const,
        );
        expect(new Map(told)).toEqual(new Map([...sums].sort()));
      }),
      { numRuns },
    );
  });
});

describe("a report that is wrong is found out", () => {
  /** A task that was retried, whose operation was reconciled, and another one that never ran. */
  function sample(): { readonly log: ExportedEvent[]; readonly report: ReportedReport } {
    const machine = new Machine();
    machine.start(
      startRun(
        planOf({
          only: { retry: { initialMs: 0, jitter: 0, attemptsMax: 2 } },
          tell: { needs: ["only"] },
        }),
      ),
    );
    machine.do(leaseTask(0));
    machine.do(intend(1, "i1"));
    machine.do(endLease(1, LeaseEndReason.EXPIRED));
    machine.do(observeResult("i1"));
    machine.nowMs += 1;
    machine.do({ kind: "FireDeadline", task: 0 });
    machine.do(leaseTask(0));
    machine.do(failTask(2));
    const report = tell(machine, { incarnation: 0 });
    if (report === undefined) throw new Error("no report");
    return { log: exported(machine), report: reported(report) };
  }

  function differences(change: (report: ReportedReport) => ReportedReport): string[] {
    const { log, report } = sample();
    return findDifferences(log, { incarnation: 0, since: 0 }, change(report));
  }

  const key = "task/default/r1/1/only/mail/1";

  test("while one that is right is not", () => {
    expect(differences((report) => report)).toEqual([]);
  });

  test("one that hides a second attempt", () => {
    expect(
      differences(({ lines, totals }) => ({
        lines: lines.map((line) =>
          line.class === "RETRIED" ? { ...line, class: "UNTOUCHED" } : line,
        ),
        totals,
      })),
    ).toEqual(["task only is RETRIED, and reported as UNTOUCHED"]);
  });

  test("one that takes what somebody else told for the call's own answer", () => {
    expect(
      differences(({ lines, totals }) => ({
        lines: lines.map((line) =>
          line.class === "RECONCILED" ? { ...line, class: "REUSED" } : line,
        ),
        totals,
      })),
    ).toEqual([`operation ${key} is RECONCILED, and reported as REUSED`]);
  });

  test("one that leaves a line out, or has it twice, or another event as its proof, or a total that does not add up", () => {
    expect(
      differences(({ lines, totals }) => ({
        lines: lines.filter(({ task }) => task !== "tell"),
        totals,
      })),
    ).toEqual(["task tell is not reported"]);
    expect(
      differences(({ lines, totals }) => ({ lines: [...lines, ...lines.slice(-1)], totals })),
    ).toEqual(["task tell is reported twice"]);
    expect(
      differences(({ lines, totals }) => ({
        lines: lines.map((line) => (line.class === "SKIPPED" ? { ...line, proofEvent: 1 } : line)),
        totals,
      })),
    ).toEqual(["task tell ended with event 9, not 1"]);
    expect(differences(({ lines, totals }) => ({ lines, totals: totals.slice(1) }))).toHaveLength(
      1,
    );
  });
});

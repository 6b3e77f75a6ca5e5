import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { decideStartRun } from "@pawl/server/core/decide/start-run.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { describe, expect, it } from "vitest";
import { startRun } from "../core/support/commands.js";
import { contextAt } from "../core/support/context.js";
import {
  cancelRequested,
  declared,
  doubted,
  intended,
  leased,
  observedNotSent,
  observedRefused,
  observedResult,
  observedUnknown,
  reconciled,
  reviewOpened,
  reviewResolved,
  runContinued,
  runFaulted,
  runTimedOut,
  signalReceived,
  signalTaken,
  stepRecorded,
  suspended,
} from "../core/support/events.js";
import { planOf } from "../core/support/plans.js";
import { approved, proposalEnded, proposed } from "../core/support/proposals.js";
import { Scenario } from "../core/support/scenario.js";
import { failure, payload, START_MS } from "../core/support/values.js";
import { findUnfoundedCalls } from "../property/support/effects.js";
import { LogJudge } from "./support/check-log.js";
import { checkUpdates } from "./support/check-updates.js";

const storedAt = (body: EventBody, number: number, atMs: number) => ({
  ...{ sequence: number, number, atMs, body },
});

describe("what an incarnation leaves open is complained about", () => {
  const left = (...bodies: readonly EventBody[]): readonly string[] =>
    findUnfoundedCalls(
      [...bodies, runContinued(2, 1)].map((body, at) => ({
        body,
        meta: { atMs: START_MS, number: at + 1 },
      })),
    );
  const call = "the next incarnation began with call i1 of operation 0 open";
  const proposal = "the next incarnation began with proposal 0 open";
  const unknown = { case: "unknown", value: failure() } as const;
  const absent = { case: "absent", value: {} } as const;

  it.each<[string, string, readonly EventBody[]]>([
    ["a call of which nothing was heard", call, [declared()]],
    ["a call in doubt", call, [declared(), doubted()]],
    ["a call of which nobody knows", call, [declared(), observedUnknown()]],
    [
      "a call that was looked up in vain",
      call,
      [declared(), doubted(), reconciled(unknown, OperationStatus.IN_DOUBT)],
    ],
    ["a call that a person looks at", call, [declared(), observedUnknown(), reviewOpened()]],
    [
      "a call after one that never left",
      call.replace("i1", "i2"),
      [declared(), observedNotSent(), intended({ intentId: "i2" })],
    ],
    [
      "a call of which an earlier never left",
      call.replace("i1", "i2"),
      [declared(), intended({ intentId: "i2" }), observedNotSent("i1")],
    ],
    ["a proposal without decision", proposal, [proposed()]],
    ["a proposal that was approved", proposal, [proposed(), approved()]],
  ])("%s", (_, complaint, bodies) => {
    expect(left(...bodies)).toContainEqual(`event ${bodies.length + 1}: ${complaint}`);
  });

  it.each<[string, readonly EventBody[]]>([
    ["a call that returned", [declared(), observedResult()]],
    ["a call that was refused", [declared(), observedRefused()]],
    ["a call that never left", [declared(), observedNotSent()]],
    ["a call that was not found", [declared(), doubted(), reconciled(absent, 1)]],
    [
      "a call of which a person said what became of it",
      [declared(), doubted(), reviewOpened(), reviewResolved(ReviewChoice.DONE)],
    ],
    [
      "a proposal that was revoked",
      [proposed(), approved(), proposalEnded(ProposalStatus.REVOKED)],
    ],
  ])("but not %s", (_, bodies) => {
    expect(left(...bodies)).toEqual([]);
  });
});

describe("a run whose timeout of 1 s is over", () => {
  const complaintsOf = (
    bodies: readonly (readonly [ms: number, EventBody])[],
    endMs: number,
  ): readonly string[] => {
    const start = startRun(planOf({ only: {} }, "only"), { runTimeoutMs: 1_000 });
    const decision = decideStartRun(undefined, start, contextAt(START_MS));
    const [started] = decision.accepted ? decision.events : [];
    if (started === undefined) throw new Error("the start is refused");
    const events = [
      storedAt(started, 1, START_MS),
      ...bodies.map(([ms, body], at) => storedAt(body, at + 2, START_MS + ms)),
    ];
    const complaints: string[] = [];
    const run = { number: 1, events, state: { kind: "run" } } as const;
    new LogJudge(run, (text) => complaints.push(text)).judge(START_MS + endMs);
    return complaints;
  };

  it("may not be open when nothing more happens", () => {
    const open = `run 1: expected an end at ${START_MS + 1_000}, but it is open at ${START_MS + 90_000}`;
    expect(complaintsOf([[0, leased(0, 1)]], 90_000)).toEqual([open]);
    const continued = [
      [0, leased(0, 1)],
      [0, runContinued(2, 1)],
    ] as const;
    expect(complaintsOf(continued, 90_000)).toEqual([open]);
  });

  it("may be open for a moment, while it is stopped, or after a fault", () => {
    expect(complaintsOf([], 5_000)).toEqual([]);
    expect(complaintsOf([[1_000, runTimedOut()]], 90_000)).toEqual([]);
    expect(complaintsOf([[0, cancelRequested()]], 90_000)).toEqual([]);
    expect(complaintsOf([[0, runFaulted()]], 90_000)).toEqual([
      "run 1, event 2: expected no fault of the kernel (boom)",
    ]);
  });

  it("is not stopped a moment too early", () => {
    expect(complaintsOf([[999, runTimedOut()]], 90_000)).toEqual([
      "run 1, event 2: expected a run whose deadline has passed",
    ]);
  });
});

describe("the answer to an update", () => {
  const complaintsOf = (
    answer: Partial<ReturnType<typeof stepRecorded>["value"]>,
    told: string,
  ) => {
    const subject = { case: "update", value: { update: "go" } } as const;
    const opened = [{ ...{ name: "move", key: undefined, dueAtMs: 0 }, subject }];
    const bodies = [
      leased(0, 1),
      suspended(0, 1, { opened, waits: [0] }),
      signalReceived({ requestId: "u1", update: true }),
      signalTaken(0, 0),
      leased(0, 2, { attempt: 1 }),
      stepRecorded(0, 2, { name: "$answer", key: "0", answers: 0, ...answer }),
    ];
    const events = bodies.map((body, at) => storedAt(body, at + 2, START_MS));
    const run = { number: 1, events, state: Scenario.ofOne().given(...bodies).state };
    const complaints: string[] = [];
    const shadow = { runs: new Map([[1, run]]), find: () => run };
    checkUpdates(shadow, new Map([["r1 u1", told]]), (text) => complaints.push(text));
    return complaints;
  };
  const refusal = { value: undefined, failure: failure({ message: "too far" }) };

  it("is what its sender was told", () => {
    expect(complaintsOf({ value: payload(6) }, "accepted 6")).toEqual([]);
    expect(complaintsOf(refusal, "refused too far")).toEqual([]);
    expect(complaintsOf(refusal, "accepted ")).toEqual([
      "update r1 u1 was told accepted , but refused too far is recorded",
    ]);
  });
});

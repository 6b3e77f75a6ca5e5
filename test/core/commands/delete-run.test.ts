import { ParentClose } from "@pawl/proto/v1/obligation_pb.js";
import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { OnExhausted } from "@pawl/proto/v1/plan_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import { compileRecordedPlan } from "@pawl/server/core/apply.js";
import type { ChangeLegalHold } from "@pawl/server/core/command.js";
import { keepForEver, type Retention } from "@pawl/server/core/retention.js";
import { restoreRun } from "@pawl/server/core/rows/rows-to-run.js";
import { splitRows } from "@pawl/server/core/rows/run-to-rows.js";
import { describe, expect, it } from "vitest";
import {
  completeTask,
  deleteRun,
  failTask,
  leaseTask,
  pauseRun,
  sendSignal,
  settleObligation,
  startChild,
  startRun,
  terminateRun,
} from "../support/commands.js";
import { completed, declared, leased, obligationMade, runClosed } from "../support/events.js";
import { must } from "../support/go.js";
import { planOf } from "../support/plans.js";
import { people, proposalEnded, propose, proposed } from "../support/proposals.js";
import { Scenario } from "../support/scenario.js";
import { fingerprint, START_MS } from "../support/values.js";

const onlyPlan = planOf({ only: {} }, "only");
const hold: ChangeLegalHold = {
  kind: "ChangeLegalHold",
  expectedVersion: undefined,
  held: true,
  reason: "case 7",
};

/** A run that ended 100 ms after its start. */
function ended(status: RunStatus = RunStatus.COMPLETED): Scenario {
  return Scenario.ofOne()
    .at(50)
    .given(leased(0, 1))
    .at(100)
    .given(completed(0, 1), runClosed(status));
}

/** A run that was terminated while a call of its operation was under way. */
function unsure(): Scenario {
  const scenario = Scenario.ofOne().given(leased(0, 1), declared());
  const { decision } = scenario.when(terminateRun());
  scenario.commit(decision.accepted ? decision.events : []);
  return scenario;
}

const keeping = (keep: Partial<Retention["keep"]>): { retentionOf: () => Retention } => ({
  retentionOf: () => ({ ...keepForEver, keep: { ...keepForEver.keep, ...keep } }),
});

describe("DeleteRun", () => {
  it("records who deleted a run that has ended, and why, for ever unless tombstones end", () => {
    ended()
      .at(200)
      .when(deleteRun())
      .records({
        case: "runDeleted",
        value: { reason: "asked for", principal: "local", tombstoneUntilMs: 0 },
      });
    const { decision } = ended()
      .at(200)
      .when(deleteRun(), keeping({ tombstonesMs: 1000 }));
    expect(decision).toMatchObject({
      events: [{ value: { tombstoneUntilMs: START_MS + 1200 } }],
    });
  });

  it("changes nothing on a dry run, and answers a repeat as existing", () => {
    ended()
      .when(deleteRun({ dryRun: true }))
      .records();
    const scenario = ended();
    scenario.when(deleteRun()).records(deleted);
    scenario.when(deleteRun()).isExisting();
  });

  it.each([
    ["open", Scenario.ofOne(), "PAWL_ILLEGAL_TRANSITION"],
    [
      "held",
      ended().given({
        case: "legalHoldChanged",
        value: { held: true, reason: "", principal: "p" },
      }),
      "PAWL_LEGAL_HOLD",
    ],
    ["still unsure of an effect", unsure(), "PAWL_OPERATIONS_UNSETTLED"],
  ] as const)("is refused for a run that is %s", (_what, scenario, reason) => {
    scenario.when(deleteRun()).rejects(reason);
  });

  it("is refused while the whole namespace is held, and with another version than expected", () => {
    const held = { ...keepForEver, hold: { atMs: 1, reason: "audit", principal: "p" } };
    const { decision } = ended().when(deleteRun(), { retentionOf: () => held });
    expect(decision).toMatchObject({ rejection: { reason: "PAWL_LEGAL_HOLD" } });
    ended()
      .when(deleteRun({ expectedVersion: 9 }))
      .rejects("PAWL_STALE_VERSION");
  });

  it.each([
    [RunStatus.COMPLETED, "completedMs"],
    [RunStatus.FAILED, "failedMs"],
    [RunStatus.CANCELLED, "cancelledMs"],
    [RunStatus.TERMINATED, "terminatedMs"],
  ] as const)("by retention follows how the run ended, status %i", (status, name) => {
    const due = deleteRun({ whenDue: true });
    const asked = (ms: number, keep: Partial<Retention["keep"]>): boolean =>
      ended(status).at(ms).when(due, keeping(keep)).decision.accepted;
    const others = { completedMs: 0, failedMs: 0, cancelledMs: 0, terminatedMs: 0 };
    expect(asked(1099, { ...others, [name]: 1000 })).toBe(false);
    expect(asked(1100, { ...others, [name]: 1000 })).toBe(true);
    expect(asked(1_000_000, { ...others, [name]: undefined })).toBe(false);
  });
});

describe("DeleteRun of what is needed", () => {
  it("is refused while it owes another run something", () => {
    const scenario = Scenario.ofOne()
      .at(50)
      .given(leased(0, 1), obligationMade(1), completed(0, 1), runClosed(RunStatus.COMPLETED));
    scenario
      .when(deleteRun())
      .rejects("PAWL_RUN_NEEDED", { id: "r1", by: "obligation", name: "r2", untilMs: 0 });
  });

  it("is refused while an action of scope NAMESPACE is proposed", () => {
    const scenario = Scenario.empty();
    const proposal = propose(0, {
      ...{ scope: OperationScope.NAMESPACE, key: "invoice-1", lease: undefined },
    });
    const { decision } = scenario.when(proposal, people.robot);
    scenario.commit(decision.accepted ? decision.events : []);
    scenario.when(deleteRun()).rejects("PAWL_PROPOSALS_OPEN", {
      ...{ entity: "proposal", status: "open", command: "DeleteRun", legal: ["withdraw it"] },
    });
    scenario.given(proposalEnded(ProposalStatus.WITHDRAWN)).when(deleteRun()).records(deleted);
  });

  it("is refused while its child runs, and while the order to end that has not arrived", () => {
    const scenario = Scenario.ofOne().given(leased(0, 1));
    must(scenario, startChild(1, ParentClose.CANCEL));
    must(scenario, settleObligation());
    const need = { id: "r1", name: "r1/1/only/part", untilMs: 0 };
    // Between the end of the run and what follows in the same commit.
    scenario.given(completed(0, 1), runClosed(RunStatus.COMPLETED));
    scenario.when(deleteRun()).rejects("PAWL_RUN_NEEDED", { ...need, by: "child" });
    scenario.commit([]);
    scenario.when(deleteRun()).rejects("PAWL_RUN_NEEDED", { ...need, by: "obligation" });
    must(scenario, settleObligation({ obligation: 1 }));
    scenario.when(deleteRun()).records(deleted);
  });

  it("is refused while a review of it is open", () => {
    const scenario = Scenario.ofOne({
      retry: { attemptsMax: 1, onExhausted: OnExhausted.ASK },
    }).given(leased(0, 1));
    must(scenario, failTask(1));
    // A run that ends closes it before: nothing else lets it end.
    scenario.given(runClosed(RunStatus.TERMINATED));
    scenario
      .when(deleteRun(), { runNumber: 7 })
      .rejects("PAWL_RUN_NEEDED", { id: "r1", by: "review", name: "7-0", untilMs: 0 });
  });

  it("is refused while its approvals are kept for their audit", () => {
    const approvals = keeping({ approvalsMs: 1000 });
    const scenario = Scenario.ofOne()
      .at(50)
      .given(leased(0, 1), proposed(), proposalEnded(ProposalStatus.WITHDRAWN))
      .at(100);
    must(scenario, completeTask(1));
    scenario
      .at(1099)
      .when(deleteRun(), approvals)
      .rejects("PAWL_RUN_NEEDED", {
        ...{ id: "r1", by: "approvals", name: "", untilMs: START_MS + 1100 },
      });
    scenario.at(1100).when(deleteRun(), approvals).records(deleted);
    ended().at(1099).when(deleteRun(), approvals).records(deleted);
  });
});

const deleted = {
  case: "runDeleted",
  value: { reason: "asked for", principal: "local", tombstoneUntilMs: 0 },
} as const;

describe("a deleted run", () => {
  it("takes nothing more: every command but its deletion is refused", () => {
    const scenario = ended().given(deleted);
    for (const command of [pauseRun(), sendSignal({ name: "go" }), leaseTask(0), completeTask(1)]) {
      scenario.when(command).rejects("PAWL_RUN_DELETED");
    }
  });

  it("does not begin again, whatever the policy; another input is another request", () => {
    const scenario = ended().given(deleted);
    const again = startRun(onlyPlan, { onExisting: OnExisting.RESTART_CLOSED, requestId: "again" });
    scenario.when(again).rejects("PAWL_RUN_DELETED");
    const other = { ...again, fingerprint: fingerprint(2) };
    scenario.when(other).rejects("PAWL_FINGERPRINT_CONFLICT");
  });

  it("lets no event follow", () => {
    const scenario = ended().given(deleted);
    expect(() => scenario.given(deleted)).toThrow(
      /^Expected no event after the deletion of run "r1", which is event \d+, but there is event \d+:/,
    );
  });

  it("is told by its rows as by its history", () => {
    const scenario = ended().given(deleted);
    const restored = restoreRun(splitRows(scenario.state), compileRecordedPlan);
    expect(restored.deletion).toEqual({
      atMs: START_MS + 100,
      ...deleted.value,
    });
  });
});

describe("a legal hold", () => {
  it("is begun and ended with its reason, also while the run is open, and survives in rows", () => {
    const scenario = Scenario.ofOne().at(10);
    scenario.when(hold).records({
      case: "legalHoldChanged",
      value: { held: true, reason: "case 7", principal: "local" },
    });
    scenario.when(hold).isExisting();
    const restored = restoreRun(splitRows(scenario.state), compileRecordedPlan);
    expect(restored.legalHold).toEqual({
      atMs: START_MS + 10,
      reason: "case 7",
      principal: "local",
    });
    scenario.when({ ...hold, held: false, reason: "closed" }).records({
      case: "legalHoldChanged",
      value: { held: false, reason: "closed", principal: "local" },
    });
    expect(scenario.state.legalHold).toBeUndefined();
  });
});

describe("an id whose tombstone is over", () => {
  it("begins as the next incarnation, with lease versions above all of the last one", () => {
    const scenario = Scenario.empty();
    const command = startRun(onlyPlan, { after: { incarnation: 3, leaseVersion: 12 } });
    const { decision } = scenario.when(command);
    scenario.commit(decision.accepted ? decision.events : []);
    expect(scenario.state).toMatchObject({ incarnation: 4, leaseVersionBase: 12 });
    expect(scenario.state.tasks[0]?.leaseVersion).toBe(12);
  });
});

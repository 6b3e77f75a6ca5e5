import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import { startRun } from "../support/commands.js";
import { completed, leased } from "../support/events.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { fingerprint, payload, START_MS, sha256 } from "../support/values.js";

const chain = planOf({ first: {}, second: { needs: ["first"] } });

describe("StartRun", () => {
  it("records everything that was asked, and who asked", () => {
    const labels = [{ key: "team", value: "a" }];
    const command = startRun(chain, { input: payload(1), labels, traceparent: "00-a" });
    Scenario.empty()
      .when(command, { principal: "ann" })
      .records({
        case: "runStarted",
        value: {
          namespace: "default",
          runId: "r1",
          incarnation: 1,
          workflow: "w",
          plan: chain.bytes,
          input: payload(1),
          fingerprint: fingerprint(1),
          labels,
          traceparent: "00-a",
          principal: "ann",
          requestId: "",
        },
      });
  });

  it("makes the tasks that need nothing READY, and blocks the others", () => {
    const { state } = Scenario.started(chain);
    expect(state.tasks).toMatchObject([
      { status: TaskStatus.READY, version: 0, firstReadyAtMs: START_MS, readyAtMs: START_MS },
      { status: TaskStatus.BLOCKED, version: 0, firstReadyAtMs: 0, openNeeds: 1 },
    ]);
    expect(state).toMatchObject({
      status: RunStatus.RUNNING,
      version: 1,
      openTasks: 2,
      eventCount: 1,
    });
  });

  it("says that a run with the same fingerprint exists, whatever its plan and labels", () => {
    const other = startRun(planOf({ else: {} }), { labels: [{ key: "k", value: "v" }] });
    Scenario.started(chain).when(other).isExisting();
  });

  it("says so also when that run is over", () => {
    Scenario.ofOne().given(leased(0, 1)).when(startRun(chain)).isExisting();
    const over = Scenario.ofOne().given(leased(0, 1));
    over.commit([completed(0, 1)]);
    expect(over.state.status).toBe(RunStatus.COMPLETED);
    over.when(startRun(chain)).isExisting();
  });

  it.each([
    ["input", {}],
    ["workflow", { workflow: "other" }],
  ])("refuses another fingerprint, and names the %s", (differs, parts) => {
    Scenario.started(chain)
      .when(startRun(chain, { fingerprint: fingerprint(9), ...parts }))
      .rejects("PAWL_FINGERPRINT_CONFLICT", {
        entity: "run",
        id: "r1",
        recorded: fingerprint(1),
        received: fingerprint(9),
        differs,
      });
  });

  it("does not keep the caller's own label objects", () => {
    const label = { key: "team", value: "a" };
    const scenario = Scenario.empty();
    const { decision } = scenario.when(startRun(chain, { labels: [label] }));
    if (decision.accepted) {
      scenario.commit(decision.events);
    }
    label.value = "changed";
    expect(scenario.state.labels).toEqual([{ key: "team", value: "a" }]);
    expect(sha256(new Uint8Array(0))).toHaveLength(32);
  });
});

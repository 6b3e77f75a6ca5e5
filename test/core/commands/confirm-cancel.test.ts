import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import { confirmCancel } from "../support/commands.js";
import {
  cancelRequested,
  completed,
  declared,
  doubted,
  leased,
  leaseEnded,
  taskCancelled,
} from "../support/events.js";
import { Scenario } from "../support/scenario.js";

const asked = (): Scenario => Scenario.ofOne().given(leased(0, 1), cancelRequested());

describe("ConfirmCancel", () => {
  it("ends the task, and with the last one the run", () => {
    const { followed, ...rest } = asked().when(confirmCancel(1)).records(taskCancelled(0, 1));
    expect(followed).toMatchObject([
      {
        case: "runClosed",
        value: {
          status: RunStatus.CANCELLED,
          failure: { code: "PAWL_RUN_CANCELLED", message: "enough" },
        },
      },
    ]);
    expect(rest.reply.existing).toBe(false);
  });

  it("puts a call that is under way in doubt, and then asks a person", () => {
    const { followed, ...after } = asked()
      .given(declared())
      .when(confirmCancel(1))
      .records(doubted(), taskCancelled(0, 1));
    expect(followed).toMatchObject([
      { case: "runClosed" },
      { case: "reviewOpened", value: { operation: 0 } },
    ]);
    expect(after.reply.existing).toBe(false);
  });

  it("is answered existing when it comes again", () => {
    const scenario = asked();
    scenario.commit([taskCancelled(0, 1)]);
    scenario.when(confirmCancel(1)).isExisting();
  });

  it("is refused for a task that the run has not", () => {
    asked()
      .when(confirmCancel(1, { task: 7 }))
      .rejects("PAWL_TASK_NOT_FOUND");
  });

  it("is refused after a completion under the same lease", () => {
    const scenario = asked();
    scenario.commit([completed(0, 1)]);
    scenario.when(confirmCancel(1)).rejects("PAWL_FINGERPRINT_CONFLICT");
    expect(scenario.state.tasks[0]?.status).toBe(TaskStatus.COMPLETED);
  });

  it("is refused when the lease is lost", () => {
    Scenario.ofOne()
      .given(leased(0, 1), leaseEnded(0, 1))
      .when(confirmCancel(1))
      .rejects("PAWL_LEASE_LOST", { held: 1, current: 1, status: "READY", cause: "returned" });
  });

  it("is refused when nobody asked", () => {
    Scenario.ofOne()
      .given(leased(0, 1))
      .when(confirmCancel(1))
      .rejects("PAWL_ILLEGAL_TRANSITION", {
        entity: "task",
        status: "LEASED",
        command: "report cancelled",
        legal: ["report output", "report failure", "release"],
      });
  });
});

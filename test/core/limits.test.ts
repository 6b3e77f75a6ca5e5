import { localCaller, localStanding } from "@pawl/server/core/caller.js";
import type { Command, StartRun } from "@pawl/server/core/command.js";
import { decide } from "@pawl/server/core/decide.js";
import { limits } from "@pawl/server/core/limits.js";
import { keepForEver } from "@pawl/server/core/retention.js";
import type { MutableRun } from "@pawl/server/core/state.js";
import { describe, expect, it } from "vitest";
import { intend, makeObligation, recordStep } from "./support/commands.js";
import {
  declared,
  leased,
  obligationMade,
  observedResult,
  stepRecorded,
} from "./support/events.js";
import { Scenario } from "./support/scenario.js";
import { START_MS, sha256 } from "./support/values.js";

const DAY_MS = 86_400_000;

describe("the bounds fit together", () => {
  it("every bound is a whole number above 0", () => {
    for (const [name, bound] of Object.entries(limits)) {
      expect([name, Number.isSafeInteger(bound) && bound > 0]).toEqual([name, true]);
    }
  });

  it("what is inside something is not larger than it", () => {
    expect(limits.inlineBytesMax).toBeLessThan(limits.segmentBytesMax);
    expect(limits.planBytesMax).toBeLessThan(limits.segmentBytesMax);
    expect(limits.segmentBytesMax).toBeLessThan(limits.messageBytesMax);
    expect(limits.failureBytesMax).toBeLessThan(limits.inlineBytesMax);
    expect(limits.idBytesMax).toBeLessThan(limits.targetBytesMax);
  });

  it("every default is within its bounds", () => {
    expect(limits.leaseMsDefault).toBeGreaterThanOrEqual(limits.leaseMsMin);
    expect(limits.leaseMsDefault).toBeLessThanOrEqual(limits.leaseMsMax);
    expect(limits.cancelGraceMsDefault).toBeLessThanOrEqual(limits.leaseMsMax);
    expect(limits.attemptsMaxDefault).toBeLessThanOrEqual(limits.attemptsMaxMax);
    expect(limits.backoffInitialMsDefault).toBeLessThanOrEqual(limits.backoffInitialMsMax);
    expect(limits.backoffInitialMsMax).toBeLessThanOrEqual(limits.backoffMsMax);
    expect(limits.settleMsDefault).toBeLessThanOrEqual(limits.settleMsMax);
    expect(limits.callTimeoutMsDefault).toBeLessThanOrEqual(limits.callTimeoutMsMax);
  });

  it("an unacknowledged offer is taken back before its lease could end", () => {
    expect(limits.offerAckMs).toBeLessThan(limits.leaseMsDefault);
  });

  it("a day is a day", () => {
    const days = [limits.leaseMsMax, limits.settleMsMax, limits.callTimeoutMsMax];
    expect(days).toEqual([DAY_MS, DAY_MS, DAY_MS]);
  });
});

describe("a full run", () => {
  const outcome = (run: MutableRun, command: Exclude<Command, StartRun>): string => {
    const context = {
      nowMs: START_MS,
      ...localCaller,
      runNumber: 1,
      standingOf: localStanding,
      currentVersion: () => 0,
      retentionOf: () => keepForEver,
      random: () => 0,
      sha256,
    };
    const decision = decide(run, command, context);
    if (!decision.accepted) {
      return decision.rejection.reason;
    }
    return decision.reply.existing ? "existing" : "recorded";
  };

  /** Fills a list up to its bound; as many events would say the same, slower. */
  function fill<T>(items: T[], count: number): void {
    const [item] = items;
    if (item !== undefined) {
      items.length = count;
      items.fill(item, 1);
    }
  }

  it("takes no more steps, but says that a recorded one exists", () => {
    const { state } = Scenario.ofOne().given(leased(0, 1), stepRecorded(0, 1));
    fill(state.steps, limits.stepsMax - 1);
    expect(outcome(state, recordStep(1, { name: "last" }))).toBe("recorded");
    fill(state.steps, limits.stepsMax);
    expect(outcome(state, recordStep(1, { name: "one more" }))).toBe("PAWL_TOO_LARGE");
    expect(outcome(state, recordStep(1))).toBe("existing");
    expect(outcome(state, recordStep(2, { name: "one more" }))).toBe("PAWL_LEASE_LOST");
  });

  it("makes no more obligations, but says that a recorded one exists", () => {
    const { state } = Scenario.ofOne().given(leased(0, 1), obligationMade(1));
    fill(state.obligations, limits.obligationsMax - 1);
    expect(outcome(state, makeObligation(1, { name: "last" }))).toBe("recorded");
    fill(state.obligations, limits.obligationsMax);
    expect(outcome(state, makeObligation(1, { name: "one more" }))).toBe("PAWL_TOO_LARGE");
    expect(outcome(state, makeObligation(1))).toBe("existing");
  });

  it("takes no more operations, but goes on with a known one", () => {
    const { state } = Scenario.ofOne().given(leased(0, 1), declared(), observedResult());
    fill(state.operations, limits.operationsMax - 1);
    expect(outcome(state, intend(1, "i2", { name: "last" }))).toBe("recorded");
    fill(state.operations, limits.operationsMax);
    expect(outcome(state, intend(1, "i2", { name: "one more" }))).toBe("PAWL_TOO_LARGE");
    expect(outcome(state, intend(1, "i2"))).toBe("existing");
    expect(outcome(state, intend(2, "i2", { name: "one more" }))).toBe("PAWL_LEASE_LOST");
  });
});

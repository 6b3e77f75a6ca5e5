import { localCaller } from "@pawl/server/core/caller.js";
import type { Target } from "@pawl/server/kernel/outcome.js";
import {
  type PostponedStart,
  PostponedStarts,
  postponedBytesMax,
  postponedMax,
} from "@pawl/server/kernel/postponed-starts.js";
import { RunNumbers } from "@pawl/server/kernel/run-numbers.js";
import { describe, expect, it } from "vitest";
import { startRun } from "../core/support/commands.js";
import { onePlan, runOf } from "./storage/support/one-run.js";

const to = {
  receiver: {
    outcome: () => undefined,
    prepare: () => undefined,
    release: () => undefined,
    fault: () => undefined,
  },
  tag: 0,
};

function postponed(input: Uint8Array | undefined): PostponedStart {
  const command = { ...startRun(onePlan, { runId: "r1" }), input };
  return { target: runOf("r1"), command, caller: localCaller, to };
}

describe("starts that wait for the disk", () => {
  it("are bounded in number", () => {
    const starts = new PostponedStarts();
    for (let count = 0; count < postponedMax; count++) {
      expect(starts.add(postponed(undefined))).toBeUndefined();
    }
    expect(starts.add(postponed(undefined))).toMatchObject({ reason: "PAWL_OVERLOADED" });
    expect(starts.take()).toHaveLength(postponedMax);
    expect(starts.add(postponed(undefined))).toBeUndefined();
  });

  it("are bounded in bytes", () => {
    const starts = new PostponedStarts();
    const input = new Uint8Array(postponedBytesMax / 4);
    for (let count = 0; count < 3; count++) {
      expect(starts.add(postponed(input))).toBeUndefined();
    }
    expect(starts.add(postponed(input))).toMatchObject({ reason: "PAWL_OVERLOADED" });
    expect(starts.take()).toHaveLength(3);
    expect(starts.add(postponed(input))).toBeUndefined();
  });

  it("find the numbers under which their content was stored, however many wait", () => {
    const numbers = new RunNumbers(1);
    const targets = Array.from(
      { length: postponedMax + 1 },
      (_, index): Target => runOf(`r${index}`),
    );
    const reserved = targets.map((target) => numbers.reserve(target));
    expect(targets.map((target) => numbers.take(target))).toEqual(reserved);
  });
});

import { describeSubject } from "@pawl/server/core/wait-subject.js";
import { expect, it } from "vitest";

const recorded = { case: "proposal", value: { proposal: 3 } } as const;

it("a wait for a proposal is not one for the proposal of another run that has its number", () => {
  const own = { case: "proposal", ofRun: 5, proposal: 3 } as const;
  const foreign = { case: "proposal", ofRun: 6, proposal: 3 } as const;
  expect(describeSubject(own, 5)).toBe(describeSubject(recorded, 5));
  expect(describeSubject(foreign, 5)).not.toBe(describeSubject(recorded, 5));
});

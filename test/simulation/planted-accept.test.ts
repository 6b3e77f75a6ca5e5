import { expect, it, vi } from "vitest";
import { findPlanted } from "./support/planted.js";
import { drawFunctions } from "./support/settings.js";

vi.mock("@pawl/server/core/apply/by-person.js", async (original) => {
  const { completeByPerson, ...others } =
    await original<typeof import("@pawl/server/core/apply/by-person.js")>();
  return {
    ...others,
    // Whatever the code returned, a person's word alone counts.
    completeByPerson: ((run, task, _output, parts) =>
      completeByPerson(run, task, undefined, parts)) satisfies typeof completeByPerson,
  };
});

it("the simulator finds a kernel that loses what a function returned and a person accepted", async () => {
  const found = await findPlanted({ draw: drawFunctions, from: 34 });
  expect(found).toMatch(/was accepted of task/);
});

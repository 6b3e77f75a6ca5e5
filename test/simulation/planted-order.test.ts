import type { Run } from "@pawl/server/core/state.js";
import { expect, it, vi } from "vitest";
import { findPlanted } from "./support/planted.js";
import { drawFunctions } from "./support/settings.js";

vi.mock("@pawl/server/rpc/streams/ended-for.js", async (original) => {
  const { endedFor, ...others } =
    await original<typeof import("@pawl/server/rpc/streams/ended-for.js")>();
  return {
    ...others,
    // All waits first, then what was called.
    endedFor: (run: Run, task: number, after: number) =>
      endedFor(run, task, after).toSorted((one, other) =>
        one.kind === other.kind ? 0 : one.kind === "wait" ? -1 : 1,
      ),
  };
});

it("the simulator finds an edge that gives outcomes in another order than they came", async () => {
  const found = await findPlanted({ draw: drawFunctions, from: 4 });
  expect(found).toMatch(/but .* (before|came then)$|through \d+ there came|now$/);
});

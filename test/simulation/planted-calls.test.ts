import { expect, it, vi } from "vitest";
import { findPlanted } from "./support/planted.js";
import { drawFunctions } from "./support/settings.js";

vi.mock("@pawl/server/core/left-calls.js", () => ({
  // Whoever was called ends with its caller.
  endsWithCaller: () => true,
}));

it("the simulator finds a kernel that ends what was asked to stop, or let go, with its caller", async () => {
  const found = await findPlanted({ draw: drawFunctions, from: 12 });
  expect(found).toMatch(/before its grace|was let go, but it is ended/);
});

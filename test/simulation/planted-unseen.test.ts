import { expect, it, vi } from "vitest";
import { findPlanted } from "./support/planted.js";
import { drawFunctions, type Settings } from "./support/settings.js";

vi.mock("@pawl/server/core/seen-waits.js", () => ({
  // Whatever came was seen.
  wasSeen: () => true,
}));

/** A room in which all functions continue their runs as new. */
function draw(seed: number): Settings {
  const drawn = drawFunctions(seed);
  return { ...drawn, load: { ...drawn.load, continueShare: 1, runTimeoutMs: 0 } };
}

it("the simulator finds a kernel that loses what came and was not seen when its run goes on as new", async () => {
  const found = await findPlanted({ draw, from: 12 });
  expect(found).toMatch(/keeps the signals|was next$/);
});

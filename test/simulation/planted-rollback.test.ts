import { expect, it, vi } from "vitest";
import { findPlanted } from "./support/planted.js";
import { drawFunctions } from "./support/settings.js";

vi.mock("@pawl/server/core/decide/hold-back.js", async (original) => ({
  ...(await original<object>()),
  // Nothing stands in the way of an undoing.
  findObstacle: () => undefined,
}));

it("the simulator finds a kernel that undoes something while another effect may happen yet", async () => {
  const found = await findPlanted({ draw: drawFunctions, from: 29 });
  expect(found).toMatch(/undoes something while/);
});

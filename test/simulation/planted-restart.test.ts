import type { OperationIdentity } from "@pawl/server/core/identity/operation-key.js";
import type { Sha256 } from "@pawl/server/core/identity/sha256.js";
import { expect, it, vi } from "vitest";
import { findPlanted } from "./support/planted.js";
import { drawSettings, type Settings } from "./support/settings.js";

vi.mock("@pawl/server/core/identity/operation-key.js", async (original) => {
  const { buildOperationKey, ...others } =
    await original<typeof import("@pawl/server/core/identity/operation-key.js")>();
  return {
    ...others,
    // Whichever incarnation asks, it is taken for the first.
    buildOperationKey: (identity: OperationIdentity, sha256: Sha256) =>
      buildOperationKey(
        identity.scope === "namespace" ? identity : { ...identity, incarnation: 1 },
        sha256,
      ),
  };
});

/** A room in which runs begin once more all the time. */
function draw(seed: number): Settings {
  const drawn = drawSettings(seed);
  return { ...drawn, load: { ...drawn.load, restarts: 10, restartEveryMs: 3_000 } };
}

it("the simulator finds a kernel that takes an operation for one of an earlier incarnation", async () => {
  const found = await findPlanted({ draw });
  expect(found).toMatch(/its key does not hold|has the same key|its effect happened/);
});

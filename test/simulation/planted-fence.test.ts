import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { Task } from "@pawl/server/core/state.js";
import { expect, it, vi } from "vitest";
import { findPlanted } from "./support/planted.js";

vi.mock("@pawl/server/core/lease-standing.js", async (original) => ({
  ...(await original<object>()),
  // Whoever comes holds the lease.
  holds: (task: Task) => task.status === TaskStatus.LEASED,
}));

it("the simulator finds a kernel that does not ask which lease it is", async () => {
  const found = await findPlanted({});
  expect(found).toMatch(/fault of the kernel|lease|does not apply|steps/);
});

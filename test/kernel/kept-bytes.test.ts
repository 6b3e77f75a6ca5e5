import { expect, it } from "vitest";
import { completeTask, startRun } from "../core/support/commands.js";
import { MemoryKernel } from "../support/kernel.js";
import { lease, onePlan, runOf } from "./storage/support/one-run.js";

/** A few bytes as they lie in a message of 4 MiB. */
function inMessage(): Uint8Array {
  return new Uint8Array(4 * 1024 * 1024).fill(1).subarray(1000, 1010);
}

it("keeps of a message what its run needs, and not the message", async () => {
  const memory = await MemoryKernel.create();
  const start = startRun(onePlan, { runId: "r1", input: inMessage() });
  void memory.kernel.ask(runOf("r1"), start);
  await memory.time.settle();
  await lease(memory, "r1");
  const completed = memory.kernel.ask(runOf("r1"), { ...completeTask(1), output: inMessage() });
  await memory.time.settle();
  expect(await completed).toMatchObject({ accepted: true });
  const [resident] = memory.kernel.residency.values();
  const { input, tasks } = resident?.run ?? {};
  expect(input).toEqual(new Uint8Array(10).fill(1));
  // Short copies share slabs of 4 KiB.
  expect(input?.buffer.byteLength).toBeLessThanOrEqual(4096);
  expect(tasks?.[0]?.output?.buffer.byteLength).toBeLessThanOrEqual(4096);
  await memory.close();
});

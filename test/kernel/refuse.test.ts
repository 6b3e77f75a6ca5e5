import type { Outcome, Receiver } from "@pawl/server/kernel/outcome.js";
import { expect, test } from "vitest";
import { startRun } from "../core/support/commands.js";
import { MemoryKernel } from "../support/kernel.js";
import { onePlan, runOf } from "./storage/support/one-run.js";

/** A connection that sends all it holds when it is released, as streams do. */
class Shared implements Receiver {
  readonly sent: string[] = [];
  readonly #held: string[] = [];

  outcome(tag: number, outcome: Outcome): void {
    this.#held.push(`${tag} ${outcome.accepted ? "accepted" : outcome.rejection.reason}`);
  }

  prepare(): void {}

  release(): void {
    this.sent.push(...this.#held.splice(0));
  }

  fault(): void {}
}

test("a refusal after the store failed gives away nothing that its receiver still holds back", async () => {
  const memory = await MemoryKernel.create();
  const { loop } = memory.kernel;
  const receiver = new Shared();
  const ask = (tag: number): void =>
    loop.execute(
      runOf(`r${tag}`),
      startRun(onePlan, { runId: `r${tag}` }),
      { principal: "", roles: [], authenticated: true },
      { receiver, tag },
    );
  memory.disk.holdWrites = true;
  ask(1);
  await memory.time.settle();
  ask(2);
  loop.fail(new Error("the disk is gone"));
  ask(3);
  await memory.time.settle();
  expect(receiver.sent).toEqual([]);

  const other = new Shared();
  const to = { receiver: other, tag: 4 };
  loop.execute(
    runOf("r4"),
    startRun(onePlan, { runId: "r4" }),
    { principal: "", roles: [], authenticated: true },
    to,
  );
  expect(other.sent).toEqual(["4 PAWL_UNAVAILABLE"]);
});

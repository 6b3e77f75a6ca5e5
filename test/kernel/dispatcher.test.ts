import { Dispatcher, queueKey } from "@pawl/server/kernel/dispatcher.js";
import { Session } from "@pawl/server/kernel/session.js";
import { describe, expect, it } from "vitest";
import { MemoryKernel } from "../support/kernel.js";
import { startOf } from "../property/support/moves.js";
import { planOf } from "../core/support/plans.js";

const nobody = {
  outcome: () => undefined,
  prepare: () => undefined,
  release: () => undefined,
  offer: () => undefined,
  cancel: () => undefined,
  lost: () => undefined,
};

/** A session with one slot that serves two queues. */
function sessionOf(kinds: readonly string[]): Session {
  const session = new Session("s", "default", "w");
  session.queueKeys = kinds.map((kind) => queueKey("default", kind, kind));
  session.listener = nobody;
  return session;
}

const twoKinds = planOf({
  a0: { kind: "a" },
  a1: { kind: "a" },
  a2: { kind: "a" },
  b0: { kind: "b" },
});

describe("the dispatcher", () => {
  it("serves the queues of a session in turn: one that is never empty starves no other", async () => {
    const memory = await MemoryKernel.create();
    const { loop } = memory.kernel;
    const target = { kind: "run", namespace: "default", runId: "r1" } as const;
    void memory.kernel.ask(target, startOf(twoKinds));
    await memory.time.settle();
    const resident = loop.residency.findRun("default", "r1");
    if (resident === undefined || resident instanceof Promise) {
      throw new Error("expected the run in memory");
    }
    const given: string[] = [];
    const dispatcher = new Dispatcher(
      () => resident,
      (_resident, task) => {
        given.push(resident.run.plan.tasks[task]?.name ?? "");
        return true;
      },
      () => undefined,
    );
    const session = sessionOf(["a", "b"]);
    dispatcher.join(session);
    for (const { number } of twoKinds.tasks) {
      dispatcher.push(resident.number, resident.run, number);
    }
    for (let turn = 0; turn < 3; turn++) {
      session.credits = 1;
      dispatcher.credited(session);
      dispatcher.match();
    }
    expect(given).toEqual(["a0", "b0", "a1"]);
    await memory.close();
  });
});

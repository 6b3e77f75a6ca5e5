import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { type Caller, localCaller } from "@pawl/server/core/caller.js";
import type { Rejection } from "@pawl/server/core/rejection.js";
import type { Outcome } from "@pawl/server/kernel/outcome.js";
import { ParkedCommands, parkedBytesMax, parkingOf } from "@pawl/server/kernel/parked-commands.js";
import { describe, expect, it } from "vitest";
import { completeTask, startRun, terminateRun } from "../core/support/commands.js";
import { planOf } from "../core/support/plans.js";
import { MemoryKernel } from "../support/kernel.js";
import { lease, runOf, start } from "./storage/support/one-run.js";

const largePlan = planOf(
  Object.fromEntries(Array.from({ length: 80 }, (_, number) => [`task-${number}`, {}])),
);
const target = runOf("r1");
const large = new Uint8Array(parkedBytesMax / 4 + 1);

describe("commands whose runs are being read", () => {
  it("are bounded in bytes: new work is refused, reports never are", () => {
    const parked = new ParkedCommands();
    const newWork = parkingOf(target, startRun(largePlan, { runId: "r1", input: large }));
    const report = parkingOf(target, { ...completeTask(1), output: large });
    expect(newWork).toMatchObject({ isNewWork: true });
    expect(report).toMatchObject({ isNewWork: false });
    for (let count = 1; count <= 3; count++) {
      expect(parked.add(newWork)).toBeUndefined();
    }
    expect(parked.add(newWork)).toMatchObject({ reason: "PAWL_OVERLOADED", retryAfterMs: 500 });
    for (let count = 1; count <= 10; count++) {
      expect(parked.add(report)).toBeUndefined();
    }
    expect(parked.bytes).toBeGreaterThan(parkedBytesMax);
    for (let count = 1; count <= 10; count++) {
      parked.remove(report);
    }
    for (let count = 1; count <= 3; count++) {
      parked.remove(newWork);
    }
    expect(parked.bytes).toBe(0);
    expect(parked.add(newWork)).toBeUndefined();
  });

  it("of a run that takes long to read: starts beyond the bound get PAWL_OVERLOADED, its report is kept and accepted", async () => {
    const memory = await MemoryKernel.create();
    await start(memory, "r1", largePlan);
    await lease(memory, "r1");
    await memory.time.advance(2000);
    await memory.close();
    const { loop } = await memory.open();
    await memory.time.settle();
    const input = new Uint8Array(parkedBytesMax / 4 + 1);
    const starts = [1, 2, 3, 4, 5].map(() =>
      memory.kernel.ask(target, startRun(largePlan, { runId: "r1", input })),
    );
    const report = memory.kernel.ask(target, completeTask(1));
    expect(loop.residency.resident(1)).toBeUndefined();
    await memory.time.advance(100);
    const outcomes = await Promise.all(starts);
    const reasons = outcomes.map((told) => (told.accepted ? "" : told.rejection.reason));
    expect(reasons.filter((reason) => reason === "PAWL_OVERLOADED")).toHaveLength(2);
    expect(await report).toMatchObject({ accepted: true });
    await memory.close();
  });

  it("are not carried out when the credential that they came with ended meanwhile; others are", async () => {
    const memory = await MemoryKernel.create();
    await start(memory, "r1", largePlan);
    await lease(memory, "r1");
    await memory.time.advance(2000);
    await memory.close();
    const { loop } = await memory.open();
    await memory.time.settle();
    let ended: Rejection | undefined;
    const order = (caller: Caller): Promise<Outcome> =>
      new Promise((resolve, reject) => {
        const { promises: receiver } = loop;
        const tag = receiver.expect((outcome) => outcome, resolve, reject);
        loop.execute(target, terminateRun(), caller, { receiver, tag });
      });
    const revoked = order({ ...localCaller, ended: () => ended });
    expect(loop.parkedBytes).toBeGreaterThan(0);
    ended = { reason: "PAWL_UNAUTHENTICATED", message: "it was revoked" };
    await memory.time.advance(100);
    expect(await revoked).toMatchObject({ accepted: false, rejection: ended });
    expect(loop.residency.resident(1)?.run.status).toBe(RunStatus.RUNNING);
    expect(loop.parkedBytes).toBe(0);
    const allowed = order(localCaller);
    await memory.time.advance(100);
    expect(await allowed).toMatchObject({ accepted: true });
    await memory.close();
  });
});

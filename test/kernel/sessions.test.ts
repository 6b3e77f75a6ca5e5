import type { SessionListener } from "@pawl/server/kernel/kernel-api.js";
import { Sessions } from "@pawl/server/kernel/sessions.js";
import { describe, expect, it } from "vitest";
import { MemoryKernel } from "../support/kernel.js";
import { start } from "./storage/support/one-run.js";

function listenerInto(offered: string[], name: string): SessionListener {
  return {
    outcome: () => undefined,
    prepare: () => undefined,
    release: () => undefined,
    offer: (_lease, run) => offered.push(`${run.runId} to ${name}`),
    cancel: () => undefined,
    lost: () => undefined,
    ended: () => undefined,
    superseded: () => undefined,
    fault: () => undefined,
  };
}

const hello = {
  sessionId: "s1",
  worker: "w1",
  namespace: "default",
  serves: [{ kind: "work", queue: "" }],
};
const hold = { handle: 7, runId: "slow", task: "only", leaseVersion: 1 };

describe("a session", () => {
  it("belongs to the last connection, also when an older one takes longer to find its leases", async () => {
    const memory = await MemoryKernel.create();
    const { loop, residency } = memory.kernel;
    const sessions = new Sessions(loop);
    const offered: string[] = [];
    let read = (): void => undefined;
    const reading = new Promise<void>((resolve) => {
      read = resolve;
    });
    let isRead = false;
    residency.findRun = () => (isRead ? undefined : reading);
    const older = sessions.connect(
      { ...hello, holds: [hold] },
      listenerInto(offered, "the older one"),
    );
    const newer = await sessions.connect(
      { ...hello, holds: [] },
      listenerInto(offered, "the newer one"),
    );
    isRead = true;
    read();
    (await older).addCredits(1);
    Reflect.deleteProperty(residency, "findRun");
    newer.addCredits(1);
    await start(memory, "r1");
    expect(offered).toEqual(["r1 to the newer one"]);
    (await older).disconnect();
    expect(sessions.connected).toBe(1);
    await memory.close();
  });

  it("is forgotten when its connection fails to come about", async () => {
    const memory = await MemoryKernel.create();
    const { loop, residency } = memory.kernel;
    const sessions = new Sessions(loop);
    residency.findRun = () => {
      throw new Error("damaged");
    };
    const failed = sessions.connect({ ...hello, holds: [hold] }, listenerInto([], "nobody"));
    await expect(failed).rejects.toThrow("damaged");
    Reflect.deleteProperty(residency, "findRun");
    expect(sessions.size).toBe(0);
    await memory.close();
  });
});

describe("a session of another namespace with the same id", () => {
  it("takes nothing from it", async () => {
    const memory = await MemoryKernel.create();
    const sessions = new Sessions(memory.kernel.loop);
    const offered: string[] = [];
    const mine = await sessions.connect({ ...hello, holds: [] }, listenerInto(offered, "mine"));
    mine.addCredits(1);
    await start(memory, "r1");
    expect(offered).toEqual(["r1 to mine"]);
    const theirs = { ...hello, namespace: "theirs", holds: [] };
    await sessions.connect(theirs, listenerInto(offered, "theirs"));
    await memory.time.settle();
    expect(mine.renew(1)).toBe(true);
    expect(memory.kernel.loop.work.leases.size).toBe(1);
    await memory.close();
  });

  it("takes back after a restart only what is of its own namespace", async () => {
    const memory = await MemoryKernel.create();
    const before = new Sessions(memory.kernel.loop);
    const mine = await before.connect({ ...hello, holds: [] }, listenerInto([], "mine"));
    mine.addCredits(1);
    await start(memory, "r1");
    memory.powerCut();
    await memory.open();
    await memory.time.settle();
    const { loop } = memory.kernel;
    const sessions = new Sessions(loop);
    await sessions.connect(
      { ...hello, namespace: "theirs", holds: [] },
      listenerInto([], "theirs"),
    );
    await memory.time.settle();
    expect(loop.work.leases.size).toBe(1);
    await sessions.connect({ ...hello, holds: [] }, listenerInto([], "mine"));
    await memory.time.settle();
    expect(loop.work.leases.size).toBe(0);
    await memory.close();
  });
});

describe("leases that a session does not name when it comes back", () => {
  it.each([
    ["given in this process", false],
    ["given before a restart", true],
  ])("are taken back at once: those %s, and no other session's", async (_when, isRestarted) => {
    const memory = await MemoryKernel.create();
    const runIds = ["r1", "r2", "r3"];
    for (const runId of runIds) {
      await start(memory, runId);
    }
    let sessions = new Sessions(memory.kernel.loop);
    const give = async (sessionId: string, credits: number): Promise<void> => {
      const mine = { ...hello, sessionId, holds: [] };
      (await sessions.connect(mine, listenerInto([], sessionId))).addCredits(credits);
      await memory.time.settle();
    };
    await give("s1", 2);
    await give("s2", 1);
    if (isRestarted) {
      await memory.time.advance(2000);
      await memory.close();
      await memory.open();
      await memory.time.settle();
      sessions = new Sessions(memory.kernel.loop);
    }
    const named = { handle: 1, runId: "r1", task: "only", leaseVersion: 1 };
    const back = await sessions.connect({ ...hello, holds: [named] }, listenerInto([], "s1"));
    await memory.time.settle();
    expect(back.lostHandles).toEqual([]);
    const { leases } = memory.kernel.loop.work;
    expect([...leases.values()].map((lease) => lease.runNumber).sort()).toEqual([1, 3]);
    expect(leases.restoredOf("s1").map((lease) => lease.runNumber)).toEqual(isRestarted ? [1] : []);
    await memory.close();
  });
});

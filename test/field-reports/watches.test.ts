import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { json, leaseRef, oneTask } from "../rpc/support/fixtures.js";
import { codeAndReason } from "../rpc/support/refusal.js";
import { ClockedKernel } from "./support/clocked-kernel.js";
import { holdTask, startTask } from "./support/leases.js";

const { method: run } = RunService;
const { method: work } = WorkerService;

let clocked: ClockedKernel;

beforeEach(async () => {
  clocked = await ClockedKernel.open();
});

afterEach(async () => {
  await clocked.close();
  expect(clocked.faults).toEqual([]);
});

/** Records steps of the run's only task, a commit each. */
async function recordSteps(
  lease: { runId: string; task: string; leaseVersion: number },
  names: readonly string[],
  value: string = "x",
): Promise<void> {
  for (const name of names) {
    await clocked.grpc.unary(work.recordSteps, {
      lease,
      steps: [{ name, outcome: { case: "value", value: json(value) } }],
    });
  }
}

const namesOf = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

/** One message of a watch: the numbers of its events, and where to go on. */
interface Seen {
  readonly numbers: readonly number[];
  readonly position: Uint8Array;
}

/** Watches a run from a position until an event with this number came. */
async function watchThrough(through: number, position: Uint8Array): Promise<Seen[]> {
  const seen: Seen[] = [];
  for await (const message of clocked.grpc.stream(run.watchRun, { runId: "r", position })) {
    seen.push({ numbers: message.events.map(({ number }) => number), position: message.position });
    if (seen.at(-1)?.numbers.includes(through) === true) break;
  }
  return seen;
}

describe("a watch that is cut after every message it ever gets", () => {
  const last = 302;
  const all = Array.from({ length: last }, (_, index) => index + 1);

  /** A run of 302 events: started, leased, 300 steps. */
  async function longRun(): Promise<void> {
    const offer = await holdTask(clocked.grpc, "r", { timeouts: {} });
    await recordSteps(leaseRef(offer), namesOf("step", last - 2));
  }

  /** Takes one message at a time, each on a watch of its own. */
  async function takeOneByOne(position: Uint8Array, has: number): Promise<Seen[]> {
    const seen: Seen[] = [];
    let from = position;
    while ((seen.at(-1)?.numbers.at(-1) ?? has) < last) {
      for await (const message of clocked.grpc.stream(run.watchRun, {
        runId: "r",
        position: from,
      })) {
        const numbers = message.events.map(({ number }) => number);
        seen.push({ numbers, position: message.position });
        from = message.position;
        break;
      }
    }
    return seen;
  }

  test("and goes on from its last position each time, sees every event once, in order", async () => {
    const watching = (async () => {
      const offer = await holdTask(clocked.grpc, "r", { timeouts: {} });
      const seeing = watchThrough(last, new Uint8Array());
      await recordSteps(leaseRef(offer), namesOf("step", last - 2));
      return await seeing;
    })();
    const live = await watching;
    expect(live.flatMap(({ numbers }) => numbers)).toEqual(all);
    // The places between what was told together are where a watch may have been cut.
    expect(live.length).toBeGreaterThan(100);
    for (const [index, { position, numbers }] of live.entries()) {
      if (index % 10 !== 0 || numbers.at(-1) === last) continue;
      const rest = await watchThrough(last, position);
      const seenTo = numbers.at(-1) ?? 0;
      expect(rest.flatMap((seen) => seen.numbers)).toEqual(all.slice(seenTo));
    }
  });

  test("over a restart of the kernel in between as well", async () => {
    await longRun();
    const [first] = await takeOneByOne(new Uint8Array(), 0);
    if (first === undefined) throw new Error("nothing was seen");
    await clocked.kill();
    await clocked.start();
    const rest = await takeOneByOne(first.position, first.numbers.at(-1) ?? 0);
    expect([first, ...rest].flatMap(({ numbers }) => numbers)).toEqual(all);
  });
});

/** What a watch of all runs from a position comes to behind its first message, which tells only the position. */
async function firstEvents(position: Uint8Array): Promise<string> {
  for await (const { events } of clocked.grpc.stream(run.watchRuns, { position })) {
    if (events.length > 0) return "told";
  }
  return "ended";
}

describe("a watch of all runs", () => {
  test("that is cut goes on where it was: what happened meanwhile is told, and nothing twice", async () => {
    const seen: string[] = [];
    let position = new Uint8Array();
    let started = 0;
    const startSome = async (): Promise<void> => {
      for (let count = 0; count < 3; count++) await startTask(clocked.grpc, `r${started++}`);
    };
    for (let round = 0; round < 10; round++) {
      let messages = 0;
      for await (const message of clocked.grpc.stream(run.watchRuns, { position })) {
        position = Uint8Array.from(message.position);
        seen.push(...message.events.map(({ runId }) => runId));
        // The first watch begins now; all later ones have something to catch up with.
        if (round === 0 || ++messages === 3) break;
      }
      await startSome();
    }
    expect(seen).toEqual(seen.map((_, index) => `r${index}`));
    expect(seen.length).toBeGreaterThanOrEqual(9);
  });

  test("from a place that is trimmed is refused by name, and a new one begins with a place of its own", async () => {
    const beginning = clocked.grpc.stream(run.watchRuns, {});
    let old = new Uint8Array();
    for await (const { position } of beginning) {
      old = Uint8Array.from(position);
      break;
    }
    await clocked.kill();
    await clocked.start({ checkpoint: { logRetentionBytes: 0, logRetentionMs: 0 } });
    // The log is cut in pieces of 16 MiB, behind what is saved.
    const input = json("x".repeat(30_000));
    let end = "told";
    for (let round = 0; end === "told" && round < 100; round++) {
      const runs = Array.from({ length: 100 }, (_, index) =>
        oneTask(`r${round}-${index}`, "k", { input }),
      );
      await clocked.grpc.unary(run.startRuns, { runs });
      await clocked.time.pass(2_000, 500);
      end = await firstEvents(old).catch(codeAndReason);
    }
    expect(end).toBe("OUT_OF_RANGE PAWL_POSITION_TRIMMED");
    for await (const message of clocked.grpc.stream(run.watchRuns, {})) {
      expect(message.events).toEqual([]);
      expect(message.position.length).toBeGreaterThan(0);
      break;
    }
  });
});

import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { Lease } from "@pawl/server/kernel/lease-table.js";
import { LiveOutput } from "@pawl/server/kernel/output/live-output.js";
import type { OutputEntry } from "@pawl/server/kernel/output/output-entry.js";
import { OutputReader } from "@pawl/server/kernel/output/output-reader.js";
import { RunOutput } from "@pawl/server/kernel/output/run-output.js";
import { TaskOutput } from "@pawl/server/kernel/output/task-output.js";
import fc from "fast-check";
import { expect, test } from "vitest";

/** Content of 30 KB, so that a task keeps some 34 chunks: one array for all, since nothing looks into it. */
const payload = new Uint8Array(30_000);

const channels = ["", "a", "b"] as const;

/** What may happen to a task, and what its readers may do. */
const act = fc.oneof(
  fc.record({
    kind: fc.constant("emit" as const),
    channel: fc.constantFrom(...channels),
    /** How many numbers are left out before it; -1: it is sent again. */
    gap: fc.constantFrom(-1, 0, 0, 0, 0, 1, 5),
    times: fc.integer({ min: 1, max: 40 }),
  }),
  fc.record({ kind: fc.constant("begin" as const) }),
  fc.record({ kind: fc.constant("take" as const), reader: fc.nat(2) }),
);

/** What one reader has heard of the lease that emits. */
class Heard {
  readonly #last = new Map<string, number>();
  leaseVersion = 0;

  take(entry: OutputEntry): void {
    if (entry.kind === "reset") {
      expect(entry.leaseVersion).toBeGreaterThan(this.leaseVersion);
      this.#begin(entry.leaseVersion);
    } else if (entry.kind === "chunk") {
      // Without a word another lease may follow only on one of which the reader had nothing.
      if (entry.leaseVersion !== this.leaseVersion) {
        expect(this.#last.size).toBe(0);
        this.#begin(entry.leaseVersion);
      }
      const last = this.#last.get(entry.channel) ?? 0;
      expect(entry.number).toBe(last + entry.dropped + 1);
      this.#last.set(entry.channel, entry.number);
    }
  }

  /** Chunks of this lease that it was not told of. */
  missing(leaseVersion: number, last: ReadonlyMap<string, number>): number {
    const mine = leaseVersion === this.leaseVersion ? this.#last : new Map<string, number>();
    return [...last].reduce((sum, [channel, number]) => sum + number - (mine.get(channel) ?? 0), 0);
  }

  #begin(leaseVersion: number): void {
    this.#last.clear();
    this.leaseVersion = leaseVersion;
  }
}

type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

const forever = new AbortController().signal;

/** One task with three readers, and what they should hear of it. */
class World {
  readonly #output = new RunOutput(1);
  readonly #task = new TaskOutput(1, "t");
  readonly #last = new Map<string, number>();
  readonly #readers: readonly { readonly reader: OutputReader; readonly heard: Heard }[];
  #place = 0;
  #leaseVersion = 0;

  constructor() {
    this.#output.tasks.set("t", this.#task);
    this.#begin();
    const filter = { task: "t", channel: undefined, after: [], once: false };
    const place = (): number => this.#place;
    this.#readers = [0, 1, 2].map(() => ({
      reader: new OutputReader(this.#output, filter, place, () => undefined),
      heard: new Heard(),
    }));
  }

  async do(each: Act): Promise<void> {
    if (each.kind === "begin") {
      this.#begin();
    } else if (each.kind === "emit") {
      for (let time = 0; time < each.times; time++) this.#emit(each);
    } else {
      await this.#take(each.reader);
    }
    expect(this.#task.bytes).toBeLessThanOrEqual(1_048_576);
  }

  /** The task ends: each reader hears the rest, and how much it misses. */
  async end(): Promise<void> {
    this.#task.status = TaskStatus.COMPLETED;
    this.#task.endedAt = ++this.#place;
    this.#task.changedAt = this.#place;
    for (const { reader, heard } of this.#readers) {
      const ends: number[] = [];
      const more = async (): Promise<readonly OutputEntry[] | undefined> => reader.next(forever);
      for (let entries = await more(); entries !== undefined; entries = await more()) {
        for (const entry of entries) {
          heard.take(entry);
          if (entry.kind === "end") ends.push(entry.dropped);
        }
      }
      expect(ends).toEqual([heard.missing(this.#leaseVersion, this.#last)]);
    }
  }

  #begin(): void {
    this.#last.clear();
    const leaseVersion = ++this.#leaseVersion;
    this.#task.begin({ leaseVersion, attempt: leaseVersion }, ++this.#place);
  }

  #emit({ channel, gap }: { readonly channel: string; readonly gap: number }): void {
    const before = this.#last.get(channel) ?? 0;
    const number = before + 1 + gap;
    const chunk = { channel, number, payload };
    const isNew = number > before;
    expect(this.#task.wants(chunk)).toBe(isNew);
    if (isNew) {
      this.#last.set(channel, number);
      this.#task.add(chunk, ++this.#place);
    }
  }

  async #take(index: number): Promise<void> {
    const { reader, heard } = this.#readers[index] ?? {};
    // One that has all would wait for more.
    if (reader === undefined || heard?.missing(this.#leaseVersion, this.#last) === 0) return;
    for (const entry of (await reader.next(forever)) ?? []) heard?.take(entry);
  }
}

test("whatever is emitted, repeated, left out and begun again: each reader accounts for every number, and none comes twice", async () => {
  const program = fc.array(act, { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(program, async (acts) => {
      const world = new World();
      for (const each of acts) await world.do(each);
      await world.end();
    }),
    { numRuns: 200 },
  );
});

test("who neither emits nor reads costs nothing: no task is looked at, no turn is held, no timer is armed", () => {
  const never = (): never => {
    throw new Error("Expected nothing to be asked for.");
  };
  const live = new LiveOutput({
    timers: { after: never, soon: never },
    now: never,
    find: never,
    register: never,
  });
  live.touch(1, 0);
  live.touch(1, undefined);
  live.prepare();
  live.release();
  const parts = { runNumber: 1, task: 0, leaseVersion: 1, leaseMs: 1_000, sessionId: "s" };
  expect(new Lease(parts, 0, undefined).output).toBeUndefined();
  expect([live.bytes, live.runs, new RunOutput(1).closed]).toEqual([0, 0, RunStatus.UNSPECIFIED]);
});

import { decodePayload } from "@pawl/proto/v1/payload_wire.js";
import type { Rejection } from "@pawl/server/core/rejection.js";
import { Blobs } from "@pawl/server/kernel/storage/blobs.js";
import { verifyStore } from "@pawl/server/kernel/storage/verify-store.js";
import { blobKey, rangeOfKind } from "@pawl/server/log/key.js";
import { readMeta } from "@pawl/server/log/meta.js";
import { describe, expect, it } from "vitest";
import { startRun } from "../../core/support/commands.js";
import { payload, sha256 } from "../../core/support/values.js";
import { MemoryKernel, testFence, testPartition } from "../../support/kernel.js";
import { onePlan, runOf } from "./support/one-run.js";

const text = "pawl".repeat(600_000);
const large = payload(text);
const content = new TextEncoder().encode(JSON.stringify(text));
const contentHash = sha256(content);

function blobsOf(memory: MemoryKernel, refusal?: Rejection): Blobs {
  const { store, loop, ready } = memory.kernel;
  const parts = { store, fence: testFence, partition: testPartition, loop, ready };
  return new Blobs({ ...parts, timers: memory.time, admit: () => refusal });
}

async function readAll(blobs: Blobs, number: number, hash = contentHash): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of blobs.read(number, hash)) {
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

/** A matcher would look at two million bytes one by one. */
function isContent(bytes: Uint8Array): boolean {
  return Buffer.compare(bytes, content) === 0;
}

/** Content with which a run begins. */
const first = { mayBegin: true };

async function blobRows(memory: MemoryKernel): Promise<number> {
  const rows = await memory.kernel.store.read(rangeOfKind(blobKey.kind, testPartition));
  return rows.length;
}

/** Stores the input of a run and starts it. */
async function startLarge(memory: MemoryKernel, blobs: Blobs, runId: string): Promise<number> {
  const input = await blobs.admit(runOf(runId), large, first);
  const asked = memory.kernel.ask(runOf(runId), startRun(onePlan, { runId, input }));
  await memory.time.settle();
  const outcome = await asked;
  if (!outcome.accepted) {
    throw new Error(outcome.rejection.message);
  }
  return outcome.runNumber;
}

describe("content above the inline bound", () => {
  it("is durable before the run that it belongs to begins, and is read back in chunks", async () => {
    const memory = await MemoryKernel.create();
    const blobs = blobsOf(memory);
    const other = memory.kernel.ask(runOf("other"), startRun(onePlan, { runId: "other" }));
    await memory.time.settle();
    await other;
    const input = await blobs.admit(runOf("r1"), large, first);
    expect(decodePayload(input)).toMatchObject({
      contentType: "application/json",
      body: { case: "blob", value: { sha256: contentHash, sizeBytes: BigInt(content.length) } },
    });
    expect(await blobRows(memory)).toBe(3);
    memory.powerCut();
    await memory.open();
    await memory.time.settle();
    expect(isContent(await readAll(blobsOf(memory), 2))).toBe(true);
  });

  it("belongs to the run that begins, although others begin in between", async () => {
    const memory = await MemoryKernel.create();
    const blobs = blobsOf(memory);
    const input = await blobs.admit(runOf("r1"), large, first);
    for (const runId of ["a", "b"]) {
      memory.kernel.ask(runOf(runId), startRun(onePlan, { runId })).catch(() => undefined);
    }
    const asked = memory.kernel.ask(runOf("r1"), startRun(onePlan, { runId: "r1", input }));
    await memory.time.settle();
    const outcome = await asked;
    const number = outcome.accepted ? outcome.runNumber : 0;
    expect(isContent(await readAll(blobs, number))).toBe(true);
  });

  it("never comes to belong to another run because a crash took its own", async () => {
    const memory = await MemoryKernel.create();
    await blobsOf(memory).admit(runOf("r1"), large, first);
    memory.powerCut();
    await memory.open();
    await memory.time.settle();
    const asked = memory.kernel.ask(runOf("r2"), startRun(onePlan, { runId: "r2" }));
    await memory.time.settle();
    const outcome = await asked;
    const number = outcome.accepted ? outcome.runNumber : 0;
    await expect(readAll(blobsOf(memory), number)).rejects.toMatchObject({
      code: "PAWL_BLOB_NOT_FOUND",
    });
  });

  it("is refused by name when it is not what its hash says", async () => {
    const memory = await MemoryKernel.create();
    const blobs = blobsOf(memory);
    const number = await startLarge(memory, blobs, "r1");
    const at = { partition: testPartition, runNumber: number, contentHash };
    const last = blobKey.encode({ ...at, chunkNumber: 2 });
    await memory.kernel.store.putRows({ puts: [], deletes: [last], ranges: [] }, testFence);
    await expect(readAll(blobs, number)).rejects.toMatchObject({ code: "PAWL_STORE_DAMAGED" });
  });

  it("within the bound stays where it is", async () => {
    const memory = await MemoryKernel.create();
    const small = payload("x".repeat(30_000));
    expect(await blobsOf(memory).admit(runOf("r1"), small, first)).toBe(small);
    expect(await blobRows(memory)).toBe(0);
  });
});

describe("content of nothing", () => {
  it.each([
    [
      "of a run that is not there and does not begin",
      undefined,
      { mayBegin: false },
      "PAWL_RUN_NOT_FOUND",
    ],
    [
      "of a start while the disk is low",
      { reason: "PAWL_DISK_LOW", message: "low" } as const,
      { mayBegin: true },
      "PAWL_DISK_LOW",
    ],
  ])("%s is refused and not stored", async (_name, refusal, options, code) => {
    const memory = await MemoryKernel.create();
    const blobs = blobsOf(memory, refusal);
    await expect(blobs.admit(runOf("none"), large, options)).rejects.toMatchObject({ code });
    expect(await blobRows(memory)).toBe(0);
  });

  it("of a run that is there is stored also while the disk is low", async () => {
    const memory = await MemoryKernel.create();
    await startLarge(memory, blobsOf(memory), "r1");
    const low = blobsOf(memory, { reason: "PAWL_DISK_LOW", message: "low" });
    const other = payload("lwap".repeat(20_000));
    expect(await low.admit(runOf("r1"), other, { mayBegin: false })).not.toBe(other);
  });
});

describe("content that no event names", () => {
  it("is removed after an hour, and not before; what a run names stays", async () => {
    const memory = await MemoryKernel.create();
    const blobs = blobsOf(memory);
    const number = await startLarge(memory, blobs, "r1");
    await blobs.admit(runOf("never"), large, first);
    expect(await blobRows(memory)).toBe(6);
    await memory.time.advance(3_500_000);
    expect(await blobRows(memory)).toBe(6);
    await memory.time.advance(2 * 3_600_000);
    expect(await blobRows(memory)).toBe(3);
    expect(isContent(await readAll(blobs, number))).toBe(true);
  });

  it("is removed after a restart too", async () => {
    const memory = await MemoryKernel.create();
    const blobs = blobsOf(memory);
    const number = await startLarge(memory, blobs, "r1");
    await blobs.admit(runOf("never"), large, first);
    memory.powerCut();
    await memory.time.advance(2 * 3_600_000);
    await memory.open();
    await memory.time.settle();
    const again = blobsOf(memory);
    await memory.time.advance(1000);
    expect(await blobRows(memory)).toBe(3);
    expect(isContent(await readAll(again, number))).toBe(true);
  });

  it("stays when it was sent again within the hour", async () => {
    const memory = await MemoryKernel.create();
    const blobs = blobsOf(memory);
    await blobs.admit(runOf("r1"), large, first);
    await memory.time.advance(3_500_000);
    const number = await startLarge(memory, blobs, "r1");
    await memory.time.advance(24 * 3_600_000);
    expect(isContent(await readAll(blobs, number))).toBe(true);
  });

  it("leaves a store that verifies", async () => {
    const memory = await MemoryKernel.create();
    const blobs = blobsOf(memory);
    await startLarge(memory, blobs, "r1");
    await blobs.admit(runOf("never"), large, first);
    await memory.time.advance(5000);
    memory.powerCut();
    const store = memory.disk.open({ epoch: testFence.epoch });
    const problems: unknown[] = [];
    const meta = readMeta(store, testPartition);
    for await (const report of verifyStore(store, { partition: testPartition, meta })) {
      if (report.kind === "problem") {
        problems.push(report);
      }
    }
    expect(problems).toEqual([]);
  });
});

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openBooks } from "../../examples/ticket-service/books.js";
import { Journal } from "../../examples/ticket-service/journal.js";

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pawl-books-"));
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

test("books cut at any byte open with exactly the finished lines, and can be written on", async () => {
  const file = join(dir, "books.jsonl");
  const { books } = await openBooks(dir);
  for (const key of ["a", "ü", "c"]) {
    const caller = { mode: "idempotent", key, title: "Ünï" } as const;
    await books.recordCall(caller);
    await books.recordTicket(caller, { title: "Ünï", body: "line\nbreak" });
  }
  await books.close();
  const whole = await readFile(file);

  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length), async (cut) => {
      await writeFile(file, whole.subarray(0, cut));
      const finishedLines = whole.subarray(0, cut).filter((byte) => byte === 0x0a).length;
      const opened = await openBooks(dir);
      const { calls, effects } = opened.books.summarize();
      expect([calls, effects]).toEqual([
        Math.ceil(finishedLines / 2),
        Math.floor(finishedLines / 2),
      ]);
      await opened.books.recordCall({ mode: "opaque", key: undefined, title: "next" });
      await opened.books.close();

      const again = await openBooks(dir);
      expect(again.tornBytes).toBe(0);
      expect(again.books.summarize().calls).toBe(calls + 1);
      await again.books.close();
    }),
    { numRuns: 60 },
  );
});

test("a line counts only once its sync has returned; lines that come meanwhile share the next", async () => {
  const log: string[] = [];
  const syncs: (() => void)[] = [];
  const journal = new Journal({
    appendFile: async (data) => void log.push(data),
    datasync: () => new Promise((resolve) => syncs.push(resolve)),
    close: async () => void log.push("closed"),
  });
  const finish = async (append: Promise<void>, name: string): Promise<void> => {
    await append;
    log.push(name);
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  const ends = [finish(journal.append("1"), "1 durable")];
  ends.push(finish(journal.append("2"), "2 durable"), finish(journal.append("3"), "3 durable"));
  await turn();
  expect(log).toEqual(["1\n"]);
  syncs.shift()?.();
  await turn();
  expect(log).toEqual(["1\n", "1 durable", "2\n3\n"]);
  syncs.shift()?.();
  await Promise.all(ends);
  await journal.close();
  expect(log).toEqual(["1\n", "1 durable", "2\n3\n", "2 durable", "3 durable", "closed"]);
});

test("after a failed sync nothing is answered and nothing is written any more", async () => {
  const written: string[] = [];
  const journal = new Journal({
    appendFile: async (data) => void written.push(data),
    datasync: () => Promise.reject(new Error("EIO")),
    close: async () => undefined,
  });
  const expected = { code: "TICKET_BOOKS_FAILED", message: expect.stringContaining("EIO") };
  const first = journal.append("1");
  const second = journal.append("2");

  await expect(first).rejects.toMatchObject(expected);
  await expect(second).rejects.toMatchObject(expected);
  await expect(journal.append("3")).rejects.toMatchObject(expected);
  expect(written).toEqual(["1\n"]);
});

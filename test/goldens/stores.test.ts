// Goal: a store that an earlier commit wrote opens with the kernel of today, is whole, and its runs go on, without doing anything twice.

import { readdirSync } from "node:fs";
import { chmod, cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type EmbeddedKernel, json, openKernel, operation, workflow } from "@pawl/sdk";
import { verifyStore } from "@pawl/server/kernel/storage/verify-store.js";
import { STORE_FORMAT } from "@pawl/server/log/data-folder.js";
import { readLastSegment } from "@pawl/server/log/log-reader.js";
import { openDataFolder } from "@pawl/server/log/open-store.js";
import type { VerifyReport } from "@pawl/server/log/verify-log.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { reviewOf } from "../functions/support/change-code.js";
import type { GoldenStore } from "./support/golden-store.js";

const folder = fileURLToPath(new URL("stores/", import.meta.url));
const names = readdirSync(folder);
const timeout = { timeout: "60s" } as const;

async function goldenOf(name: string): Promise<GoldenStore> {
  const { golden } = await import(`./stores/${name}/code.ts`);
  return golden;
}

let place = "";
let kernel: EmbeddedKernel | undefined;
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), "pawl-golden-"));
});
afterEach(async () => {
  await kernel?.close({ drainMs: 500 });
  kernel = undefined;
  await rm(place, { recursive: true, force: true });
});

/** A copy: opening a store writes into it. */
async function copyOf(name: string): Promise<string> {
  const dir = join(place, "store");
  await cp(join(folder, name, "store"), dir, { recursive: true });
  // Neither git nor an archive keeps it.
  await chmod(join(dir, "secret"), 0o600);
  return dir;
}

async function openCopy(name: string): Promise<EmbeddedKernel> {
  kernel = await openKernel({ dir: await copyOf(name) });
  return kernel;
}

async function verify(dir: string): Promise<VerifyReport[]> {
  const opened = await openDataFolder(dir, { create: false, checksAllTables: true });
  try {
    const reports: VerifyReport[] = [];
    const options = { partition: 0, meta: opened.meta };
    for await (const report of verifyStore(opened.store, options)) reports.push(report);
    return reports;
  } finally {
    await opened.close();
  }
}

describe.each(names)("the store %s, which an earlier commit wrote", (name) => {
  test("is of a format that is read, and whole: each history gives its rows", async () => {
    const { format } = JSON.parse(await readFile(join(folder, name, "store", "STORE"), "utf8"));
    expect(format).toBeLessThanOrEqual(STORE_FORMAT);
    const reports = await verify(await copyOf(name));
    expect(reports.filter(({ kind }) => kind === "problem")).toEqual([]);
    expect(reports.at(-1)).toMatchObject({ kind: "done", isComplete: true, problems: 0 });
  });

  test("has events that stand in the log alone, besides rows and chunks", async () => {
    const opened = await openDataFolder(await copyOf(name), { create: false });
    const { sequence } = opened.meta.horizon;
    const head = await readLastSegment(opened.store, 0);
    await opened.close();
    expect(sequence).toBeGreaterThan(1);
    expect(head?.lastSequence).toBeGreaterThan(sequence);
  });

  test("has its runs where they stood", async () => {
    const { open } = await goldenOf(name);
    const now = await openCopy(name);
    for (const [runId, why] of Object.entries(open)) {
      expect((await now.run(runId).get()).why, runId).toContain(why);
    }
  });

  test("goes on to the end of every run, with the code that made it", async () => {
    const { goOn, ends } = await goldenOf(name);
    expect(await goOn(await openCopy(name))).toEqual(ends);
    await kernel?.close({ drainMs: 500 });
    kernel = undefined;
    expect((await verify(join(place, "store"))).at(-1)).toMatchObject({ problems: 0 });
  });
});

describe("a run of the store first-1, met by other code", () => {
  const sent: string[] = [];
  const mail = (name: string) =>
    operation(name, {
      payload: json<string>(),
      result: json<string>(),
      sink: { kind: "opaque" },
      call: ({ payload }) => {
        sent.push(payload);
        return payload;
      },
    });
  const order = workflow("order", { version: 1, input: json<string>() });
  beforeEach(() => {
    sent.length = 0;
  });

  test("stops with the difference when that contradicts the records, and goes on when the old code is back", async () => {
    const { goOn, ends } = await goldenOf("first-1");
    const now = await openCopy("first-1");
    const worker = await now.worker({
      serve: [
        order.run(async (ctx, item) => {
          const drawn = await ctx.step("drawn", () => item);
          await ctx.perform(mail("mail.send"), `${drawn}!`, { target: "post" });
          await ctx.waitSignal("go");
          return "never";
        }),
      ],
    });
    await now.run("order").signal("go", "now", { requestId: "first" });
    const review = await reviewOf(now, "order");
    expect(review.known).toContain("mail.send");
    expect(review.known).toContain("payload");
    expect(review.known).toContain("ctx.version");
    expect(sent).toEqual([]);
    await worker.close({ drainMs: 500 });
    await now.reviews.resolve(review, { choice: "retry", reason: "rolled back" });
    expect(await goOn(now)).toEqual(ends);
  });

  test("takes the old lines of a change under ctx.version", async () => {
    const now = await openCopy("first-1");
    const answers: boolean[] = [];
    const changed = order.run(async (ctx, item) => {
      answers.push(await ctx.version("polite"));
      const drawn = await ctx.step("drawn", () => item);
      const isPolite = await ctx.version("polite");
      const first = await ctx.perform(mail("mail.send"), isPolite ? `Dear ${drawn}` : drawn, {
        target: "post",
      });
      await ctx.waitSignal("go");
      answers.push(await ctx.version("then"));
      return first;
    });
    await now.worker({ serve: [changed] });
    await now.run("tail").signal("go", "now");
    expect(await now.run("tail").result(timeout)).toBe("mail.send tail true");
    expect(answers.slice(-2)).toEqual([false, true]);
    expect(sent).toEqual([]);
  });

  test("is held for a person when that leaves an effect behind", async () => {
    const now = await openCopy("first-1");
    const forgetful = order.run(async (ctx) => {
      await ctx.waitSignal("go");
      return "forgot";
    });
    await now.worker({ serve: [forgetful] });
    await now.run("order").signal("go", "now");
    const review = await reviewOf(now, "order");
    expect(review.known).toContain('operation "mail.send"');
    expect(review.choices).toContain("accept");
    await now.reviews.resolve(review, { choice: "accept", reason: "fine" });
    expect(await now.run("order").result(timeout)).toBe("forgot");
  });
});

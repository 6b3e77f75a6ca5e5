import { task } from "@pawl/sdk";
import { expect, test } from "vitest";
import { eachEmbedded } from "./support/each-embedded.js";

const each = eachEmbedded();

test("a run that has ended is deleted, and its id begins no other one", async () => {
  const fine = task("fine").run(() => "fine");
  await each.kernel.worker({ serve: [fine] });
  const run = await each.kernel.start(fine, undefined, { runId: "r1" });
  expect(await run.result({ timeout: "10s" })).toBe("fine");
  expect(await run.delete({ dryRun: true })).toEqual({
    existing: false,
    tombstoneUntil: undefined,
  });
  expect(await run.get()).toMatchObject({ runId: "r1" });
  expect(await run.delete({ reason: "asked for" })).toMatchObject({ existing: false });
  expect(await run.delete()).toMatchObject({ existing: true });
  await expect(run.get()).rejects.toMatchObject({ code: "PAWL_RUN_DELETED" });
  await expect(run.result({ timeout: "10s" })).resolves.toBe("fine"); // It was told already.
  const again = each.kernel.start(fine, undefined, { runId: "r1" });
  await expect(again).rejects.toMatchObject({ code: "PAWL_RUN_DELETED" });
});

test("an open run is not deleted", async () => {
  const waiting = task("waiting");
  const run = await each.kernel.start(waiting, undefined, { runId: "r2" });
  await expect(run.delete()).rejects.toMatchObject({ code: "PAWL_ILLEGAL_TRANSITION" });
});

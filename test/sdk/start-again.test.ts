import { json, operation, PawlError, task } from "@pawl/sdk";
import { expect, test } from "vitest";
import { eachClient } from "./support/each-client.js";

const each = eachClient();

let isDown = true;
const flaky = task("flaky", {
  input: json<null>(),
  output: json<number>(),
  retry: { attempts: 1 },
}).run((ctx) => {
  if (isDown) throw new Error("down");
  return ctx.incarnation;
});
const send = operation("send", {
  payload: json<null>(),
  result: json<null>(),
  sink: { kind: "idempotent", keyWindow: "1h" },
  call: () => {
    throw new Error("the line went dead");
  },
});
const sending = task("sending", { input: json<null>(), retry: { attempts: 1 } }).run((ctx) =>
  ctx.perform(send, null, { target: "mail" }),
);

test("a failed run is started again by its policy, as its next incarnation", async () => {
  await using worker = await each.client.worker({ serve: [flaky], slots: 1 });
  isDown = true;
  await expect(each.client.execute(flaky, null, { runId: "r" })).rejects.toThrow();
  const attached = await each.client.start(flaky, null, { runId: "r" });
  expect(attached).toMatchObject({ existing: true, incarnation: 1 });
  isDown = false;
  const again = { runId: "r", onExisting: "restart_failed", requestId: "monday" } as const;
  const run = await each.client.start(flaky, null, again);
  expect(run).toMatchObject({ existing: false, incarnation: 2 });
  expect(await run.result()).toBe(2);
  expect(await each.client.start(flaky, null, again)).toMatchObject({
    existing: true,
    incarnation: 2,
  });
  const completed = await each.client.start(flaky, null, {
    runId: "r",
    onExisting: "restart_failed",
  });
  expect(completed).toMatchObject({ existing: true, incarnation: 2 });
  expect(await each.client.execute(flaky, null, { runId: "r", onExisting: "restart_closed" })).toBe(
    3,
  );
  await worker.close();
});

test("a run that is to be new and exists is refused with a code of its own", async () => {
  await each.client.start(flaky, null, { runId: "r" });
  const refused = each.client.start(flaky, null, { runId: "r", onExisting: "refuse" });
  await expect(refused).rejects.toMatchObject({ code: "PAWL_RUN_EXISTS" });
});

test("a run whose effect nobody knows is not started again", async () => {
  await using worker = await each.client.worker({ serve: [sending], slots: 1 });
  const failed = each.client.execute(sending, null, { runId: "r" });
  await expect(failed).rejects.toThrow();
  const again = each.client.start(sending, null, { runId: "r", onExisting: "restart_failed" });
  await expect(again).rejects.toMatchObject({ code: "PAWL_OPERATIONS_UNSETTLED" });
  await worker.close();
});

test("a policy that there is not is refused before anything is sent", async () => {
  const wrong = { runId: "r", onExisting: "again" } as unknown as { runId: string };
  await expect(each.client.start(flaky, null, wrong)).rejects.toThrow(PawlError);
});

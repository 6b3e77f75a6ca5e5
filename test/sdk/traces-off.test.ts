import { json, operation, task } from "@pawl/sdk";
import { isTraced } from "@pawl/sdk/internal/trace.js";
import { expect, test } from "vitest";
import { eachClient } from "./support/each-client.js";

const each = eachClient();

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const notify = operation("notify", {
  payload: json<null>(),
  result: json<{ traceparent: string; headers: Record<string, string> }>(),
  call: (op) => ({ traceparent: op.traceparent, headers: { ...op.headers } }),
});
const notifying = task("notifying").run((ctx) => ctx.perform(notify, null, { target: "mail" }));

test("without OpenTelemetry the trace of who started a run still travels to its sinks", async () => {
  expect(isTraced()).toBe(false);
  await using worker = await each.client.worker({ serve: [notifying], slots: 1 });
  const traced = await each.client.execute(notifying, undefined, { runId: "r1", traceparent });
  expect(traced).toEqual({ traceparent, headers: { traceparent } });
  const untraced = await each.client.execute(notifying, undefined, { runId: "r2" });
  expect(untraced).toEqual({ traceparent: "", headers: {} });
  await worker.close();
});

import { type Client, connect, json, operation, task } from "@pawl/sdk";
import { isTraced } from "@pawl/sdk/internal/trace.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestServer, type TestServer } from "../rpc/support/test-server.js";

let server: TestServer;
let client: Client;

beforeEach(async () => {
  server = await openTestServer();
  client = connect({ url: `http://127.0.0.1:${server.server.port}` });
});
afterEach(async () => {
  await client.close();
  await server.close();
});

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const notify = operation("notify", {
  payload: json<null>(),
  result: json<{ traceparent: string; headers: Record<string, string> }>(),
  call: (op) => ({ traceparent: op.traceparent, headers: { ...op.headers } }),
});
const notifying = task("notifying").run((ctx) => ctx.perform(notify, null, { target: "mail" }));

test("without OpenTelemetry the trace of who started a run still travels to its sinks", async () => {
  expect(isTraced()).toBe(false);
  await using worker = await client.worker({ serve: [notifying], slots: 1 });
  const traced = await client.execute(notifying, undefined, { runId: "r1", traceparent });
  expect(traced).toEqual({ traceparent, headers: { traceparent } });
  const untraced = await client.execute(notifying, undefined, { runId: "r2" });
  expect(untraced).toEqual({ traceparent: "", headers: {} });
  await worker.close();
});

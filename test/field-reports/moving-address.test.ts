import dns from "node:dns";
import { type Client, connect, json, task } from "@pawl/sdk";
import { type RunningServer, startServer } from "@pawl/server/rpc/server.js";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openTestServer, type TestServer } from "../rpc/support/test-server.js";
import { BadNetwork } from "./support/bad-network.js";

/** A name that no resolver knows: it leads where the test says. */
const name = "pawl.moving.test";

let server: TestServer;
/** The old address. */
let proxy: BadNetwork;
/** The new one: the same kernel, and the same port of another address. */
let moved: RunningServer;
let address: string;
let client: Client;

beforeEach(async () => {
  server = await openTestServer({ allowedHosts: [name] });
  proxy = await BadNetwork.open(server.server.port);
  const port = Number(new URL(proxy.url).port);
  const { kernel } = server;
  moved = await startServer({ kernel, host: "127.0.0.2", port, allowedHosts: [name] });
  address = "127.0.0.1";
  const { lookup } = dns;
  vi.spyOn(dns, "lookup").mockImplementation(((hostname: string, options: object, tell: Tell) => {
    if (hostname !== name) {
      return Reflect.apply(lookup, dns, [hostname, options, tell]);
    }
    const isAll = "all" in options && options.all === true;
    return isAll ? tell(null, [{ address, family: 4 }]) : tell(null, address, 4);
  }) as typeof lookup);
  client = connect({
    url: `http://${name}:${port}`,
    onConnection: () => undefined,
    pingIntervalMs: 200,
    pingTimeoutMs: 400,
  });
});

type Tell = (error: null, address: string | object[], family?: number) => void;

afterEach(async () => {
  await client.close({ drainMs: 0 });
  vi.restoreAllMocks();
  await proxy.close();
  await moved.close({ drainMs: 0 });
  await server.close();
  expect(server.faults).toEqual([]);
});

const echo = task("echo", { input: json<string>(), output: json<string>() });

// macOS has no other loopback address than its first.
const describeOnLinux = describe.skipIf(process.platform !== "linux");

describeOnLinux("a kernel that moves to another address behind its name", () => {
  const ends: readonly (readonly [string, () => void])[] = [
    ["ends what was open", () => proxy.cut()],
    [
      "says nothing any more",
      () => {
        proxy.swallowsAnswers = true;
      },
    ],
  ];

  test.each(ends)("is found there by client and worker when the old address %s", async (_, end) => {
    await client.worker({ serve: [echo.run((_ctx, text) => text)] });
    expect(await client.execute(echo, "before", { timeout: "30s" })).toBe("before");
    expect(moved.port).toBe(Number(new URL(proxy.url).port));
    address = "127.0.0.2";
    end();
    expect(await client.execute(echo, "after", { timeout: "60s" })).toBe("after");
    const { runs } = await client.api.runs.listRuns({});
    expect(runs).toHaveLength(2);
  });
});

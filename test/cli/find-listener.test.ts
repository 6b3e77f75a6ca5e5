import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { findListener, listeningSockets } from "@pawl/server/cli/serve/find-listener.js";
import { describe, expect, it } from "vitest";

describe("who listens on a port", () => {
  it.runIf(process.platform === "linux")("is found by process id", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    expect(await findListener(port)).toMatchObject({ pid: process.pid });
    await new Promise((resolve) => server.close(resolve));
    expect(await findListener(port)).toBeUndefined();
  });

  it("is read from lines of listening sockets alone", () => {
    const table = [
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
      "   0: 0100007F:1C7F 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0",
      "   1: 0100007F:1C7F 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 20 4 30 10 -1",
      "   2: 0100007F:1C80 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0 0 10 0",
    ].join("\n");
    expect(listeningSockets(table, 7295)).toEqual(["socket:[4711]"]);
  });
});

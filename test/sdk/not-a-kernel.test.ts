import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, task } from "@pawl/sdk";
import { afterEach, beforeEach, expect, test } from "vitest";

const greet = task("greet").run(() => "hello");

let server: Server;

beforeEach(async () => {
  server = createServer((_request, response) => response.end("<html>proxy</html>"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterEach(() => new Promise((resolve) => server.close(resolve)));

test("is named as what it is, and nobody waits for ever", async () => {
  const { port } = server.address() as AddressInfo;
  const lost = connect({ url: `http://127.0.0.1:${port}` });
  await expect(lost.start(greet)).rejects.toMatchObject({
    code: "PAWL_NOT_A_KERNEL",
  });
  await expect(lost.worker({ serve: [greet] })).rejects.toMatchObject({
    code: "PAWL_NOT_A_KERNEL",
  });
  await lost.close();
});

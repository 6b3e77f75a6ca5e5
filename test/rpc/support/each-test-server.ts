import { afterEach, beforeEach, expect } from "vitest";
import { openTestServer, type TestServer, type TestServerOptions } from "./test-server.js";

/** A server for every test of the file that calls it: opened before each, closed after it, and without a fault of its own code. */
export function eachTestServer(options: TestServerOptions = {}): TestServer {
  let opened: TestServer | undefined;
  const current = (): TestServer => {
    if (opened === undefined) {
      throw new Error("outside of a test");
    }
    return opened;
  };
  beforeEach(async () => {
    opened = await openTestServer(options);
  });
  afterEach(async () => {
    await current().close();
    expect(current().faults).toEqual([]);
  });
  return {
    get kernel() {
      return current().kernel;
    },
    get server() {
      return current().server;
    },
    get grpc() {
      return current().grpc;
    },
    get json() {
      return current().json;
    },
    get metrics() {
      return current().metrics;
    },
    get faults() {
      return current().faults;
    },
    close: () => current().close(),
  };
}

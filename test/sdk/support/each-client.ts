import { type Client, connect } from "@pawl/sdk";
import { afterEach, beforeEach } from "vitest";
import { openTestServer, type TestServer } from "../../rpc/support/test-server.js";

/** A client of a kernel behind a port. */
export interface Connected {
  readonly client: Client;
}

/** One for every test of the file that calls it: both are opened before each, and closed after it. */
export function eachClient(): Connected {
  let open: { readonly server: TestServer; readonly client: Client } | undefined;
  const current = (): { readonly server: TestServer; readonly client: Client } => {
    if (open === undefined) {
      throw new Error("outside of a test");
    }
    return open;
  };
  beforeEach(async () => {
    const server = await openTestServer();
    open = { server, client: connect({ url: `http://127.0.0.1:${server.server.port}` }) };
  });
  afterEach(async () => {
    const { server, client } = current();
    await client.close();
    await server.close();
  });
  return {
    get client() {
      return current().client;
    },
  };
}

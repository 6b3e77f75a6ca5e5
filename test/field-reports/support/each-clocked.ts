import { type Client, connect } from "@pawl/sdk";
import { afterEach, beforeEach, expect } from "vitest";
import { ClockedKernel } from "./clocked-kernel.js";

/** A kernel whose time and disk are in the test's hands, and a client of it. */
export interface Clocked {
  readonly kernel: ClockedKernel;
  readonly client: Client;
  /** Closes the client; the next is one of the kernel that is open then. */
  closeClient(): Promise<void>;
}

/** One for every test of the file that calls it: opened before each, closed after it, and without a fault of its own code. */
export function eachClocked(): Clocked {
  let opened: ClockedKernel | undefined;
  let client: Client | undefined;
  const current = (): ClockedKernel => {
    if (opened === undefined) {
      throw new Error("outside of a test");
    }
    return opened;
  };
  const closeClient = async (): Promise<void> => {
    await client?.close({ drainMs: 0 });
    client = undefined;
  };
  beforeEach(async () => {
    opened = await ClockedKernel.open();
  });
  afterEach(async () => {
    await closeClient();
    await current().close();
    expect(current().faults).toEqual([]);
  });
  return {
    get kernel() {
      return current();
    },
    get client() {
      client ??= connect({ url: current().url, onConnection: () => undefined });
      return client;
    },
    closeClient,
  };
}

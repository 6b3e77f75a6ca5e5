import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { editTokenFile } from "@pawl/server/access/edit-token-file.js";
import type { Grant } from "@pawl/server/access/roles.js";
import { formatToken, hashSecret, makeEntryId, makeSecret } from "@pawl/server/access/token.js";
import type { TokenEntry } from "@pawl/server/access/token-entry.js";
import { nodeTimers } from "@pawl/server/kernel/node-ports.js";
import type { Timers } from "@pawl/server/kernel/ports.js";
import { tokenPollMs } from "@pawl/server/rpc/access/token-watch.js";
import { afterAll } from "vitest";
import { GrpcClient } from "../rpc/support/grpc-client.js";
import { JsonClient } from "../rpc/support/json-client.js";
import {
  openTestServer,
  type TestServer,
  type TestServerOptions,
} from "../rpc/support/test-server.js";

/** A principal as a test makes it. */
export interface Minted {
  readonly id: string;
  readonly token: string;
}

/** What of an entry a test may choose. */
export type EntryParts = Partial<Pick<TokenEntry, "expiresAt" | "certificates">>;

/** A kernel that asks for tokens, and the file they stand in. */
export interface GuardedServer extends TestServer {
  readonly path: string;
  mint(name: string, grants: readonly Grant[], parts?: EntryParts): Promise<Minted>;
  /** The same without waiting until it counts, for a kernel that is not asked in plaintext. */
  mintUnseen(name: string, grants: readonly Grant[], parts?: EntryParts): Promise<Minted>;
  edit(change: (entries: readonly TokenEntry[]) => readonly TokenEntry[]): Promise<void>;
  grpcWith(token?: string): GrpcClient;
  jsonWith(token?: string): JsonClient;
}

/** Node's timers, but the token file is looked at 50 times as often. */
const quickLooks: Timers = {
  after: (delayMs, callback) => nodeTimers.after(delayMs === tokenPollMs ? 20 : delayMs, callback),
  soon: (callback) => nodeTimers.soon(callback),
};

const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders.splice(0)) {
    await rm(folder, { recursive: true, force: true });
  }
});

/** A folder that is there until the tests of the file are over. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "pawl-access-"));
  folders.push(folder);
  return folder;
}

/** Opens one with a token file that holds nothing yet. */
export async function openGuardedServer(options: TestServerOptions = {}): Promise<GuardedServer> {
  const folder = await temporaryFolder();
  const path = join(folder, "tokens.json");
  const edit = (
    change: (entries: readonly TokenEntry[]) => readonly TokenEntry[],
  ): Promise<undefined> =>
    editTokenFile(path, (entries) => ({ entries: change(entries), answer: undefined }));
  await edit((entries) => entries);
  const server = await openTestServer({
    tokens: { path, isRequired: true },
    timers: quickLooks,
    ...options,
  });
  const clients: GrpcClient[] = [];
  const mintUnseen: GuardedServer["mint"] = async (name, grants, parts = {}) => {
    const secret = makeSecret();
    const id = makeEntryId();
    await edit((entries) => [...entries, entryOf({ id, name, grants, secret }, parts)]);
    return { id, token: formatToken({ id, secret }) };
  };
  return {
    ...server,
    path,
    edit,
    mint: async (name, grants, parts) => {
      const minted = await mintUnseen(name, grants, parts);
      await inForce(server, minted.token);
      return minted;
    },
    mintUnseen,
    grpcWith: (token) => {
      const client = new GrpcClient(server.server.port, token);
      clients.push(client);
      return client;
    },
    jsonWith: (token) => new JsonClient(server.server.port, token),
    close: async () => {
      for (const client of clients) {
        client.close();
      }
      await server.close();
    },
  };
}

function entryOf(
  { id, name, grants, secret }: Pick<TokenEntry, "id" | "name" | "grants"> & { secret: string },
  parts: EntryParts,
): TokenEntry {
  const createdAt = "2026-01-02T03:04:05.000Z";
  const secrets = [{ hash: hashSecret(secret).toString("base64url"), createdAt }];
  return { id, name, grants, createdAt, secrets, certificates: [], ...parts };
}

/** Waits until the kernel has read the file again. */
async function inForce({ server }: TestServer, token: string): Promise<void> {
  const client = new JsonClient(server.port, token);
  for (;;) {
    const response = await client.fetch("/pawl.v1.AdminService/GetServerInfo", {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: "{}",
    });
    if (response.status === 200) {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

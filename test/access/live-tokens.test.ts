import { chmod, rename, rm, writeFile } from "node:fs/promises";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { hashSecret, makeSecret, parseToken } from "@pawl/server/access/token.js";
import type { TokenEntry } from "@pawl/server/access/token-entry.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Duplex } from "../rpc/support/grpc-client.js";
import { codeAndReason } from "../rpc/support/refusal.js";
import { openTestServer } from "../rpc/support/test-server.js";
import { TestWorker } from "../rpc/support/worker.js";
import { type GuardedServer, openGuardedServer } from "./support.js";

const { method: run } = RunService;
const inDefault = (...roles: string[]) => [{ namespace: "default", roles }];
const revoked = "UNAUTHENTICATED PAWL_UNAUTHENTICATED";

let server: GuardedServer;

beforeEach(async () => {
  server = await openGuardedServer();
});
afterEach(() => server.close());

/** How a watch of the namespace ends; it is let in first. */
async function watchOf(token: string): Promise<{ ended: Promise<string> }> {
  const watch = server.grpcWith(token).stream(run.watchRuns, {})[Symbol.asyncIterator]();
  // The first message says where it begins.
  await watch.next();
  const ended = (async () => {
    try {
      while ((await watch.next()).done !== true);
      return "ended";
    } catch (error) {
      return codeAndReason(error);
    }
  })();
  return { ended };
}

function openSubmit(token: string): Duplex<typeof run.submit> {
  const stream = server.grpcWith(token).duplex(run.submit);
  stream.send({ waits: [{ correlation: 1, runId: "absent" }] });
  return stream;
}

async function isLetIn(token: string | undefined): Promise<string> {
  const answer = server.jsonWith(token).unary(run.listRuns, {});
  return await answer.then(
    () => "let in",
    (error: unknown) => codeAndReason(error),
  );
}

/** Waits until a token counts, or no more: the file is looked at every now and then. */
async function until(token: string | undefined, expected: string): Promise<void> {
  await expect.poll(() => isLetIn(token), { timeout: 20_000, interval: 10 }).toBe(expected);
}

const without =
  (id: string) =>
  (entries: readonly TokenEntry[]): TokenEntry[] =>
    entries.filter((entry) => entry.id !== id);

describe("a token that is revoked", () => {
  test("ends every stream that rests on it, and no other", async () => {
    const gone = await server.mint("gone", inDefault("worker", "client"));
    const stays = await server.mint("stays", inDefault("client"));
    const watch = await watchOf(gone.token);
    const submit = openSubmit(gone.token);
    await submit.next();
    const worker = await TestWorker.connect(server.grpcWith(gone.token), {});
    const other = openSubmit(stays.token);
    await other.next();
    await server.edit(without(gone.id));
    expect(await watch.ended).toBe(revoked);
    expect(codeAndReason(await submit.ended())).toBe(revoked);
    expect(codeAndReason(await worker.stream.ended())).toBe(revoked);
    expect(await isLetIn(gone.token)).toBe(revoked);
    other.send({ waits: [{ correlation: 2, runId: "absent" }] });
    expect((await other.next()).results[0]?.correlation).toBe(2);
    expect(server.faults).toEqual([]);
  });

  test("ends a call that waits", async () => {
    const gone = await server.mint("gone", inDefault("client"));
    await server.grpcWith(gone.token).unary(run.startRuns, {
      runs: [{ runId: "r", workflow: "w", plan: { tasks: [{ name: "a", kind: "k" }] } }],
    });
    const waits = (["grpc", "json"] as const).map((protocol) => {
      const client =
        protocol === "grpc" ? server.grpcWith(gone.token) : server.jsonWith(gone.token);
      return client.unary(run.getResult, { runId: "r", wait: { seconds: 50n } }).then(
        () => "answered",
        (error: unknown) => codeAndReason(error),
      );
    });
    // Both are let in before the token goes: a call of the same connection after them is answered.
    await expect.poll(() => isLetIn(gone.token)).toBe("let in");
    await new Promise((resolve) => setTimeout(resolve, 100));
    await server.edit(without(gone.id));
    expect(await Promise.all(waits)).toEqual([revoked, revoked]);
  });
});

test("a token that expires ends its streams, and is told why", async () => {
  const expiresAt = new Date(Date.now() + 1500).toISOString();
  const short = await server.mint("short", inDefault("client"), { expiresAt });
  const watch = await watchOf(short.token);
  expect(await watch.ended).toBe(revoked);
  await expect(server.jsonWith(short.token).unary(run.listRuns, {})).rejects.toThrow(/expired/);
});

test("two secrets of a token count side by side, and each ends alone", async () => {
  const { id, token } = await server.mint("rotating", inDefault("client"));
  const secret = makeSecret();
  const added = {
    hash: hashSecret(secret).toString("base64url"),
    createdAt: new Date().toISOString(),
  };
  const rotated = token.replace(parseToken(token)?.secret ?? "", secret);
  const withSecrets = (change: (secrets: TokenEntry["secrets"]) => TokenEntry["secrets"]) =>
    server.edit((entries) =>
      entries.map((entry) =>
        entry.id === id ? { ...entry, secrets: change(entry.secrets) } : entry,
      ),
    );
  await withSecrets((secrets) => [...secrets, added]);
  await until(rotated, "let in");
  const [old, fresh] = [await watchOf(token), openSubmit(rotated)];
  await fresh.next();
  await withSecrets((secrets) => secrets.slice(1));
  expect(await old.ended).toBe(revoked);
  expect(await isLetIn(token)).toBe(revoked);
  fresh.send({ waits: [{ correlation: 2, runId: "absent" }] });
  expect((await fresh.next()).results[0]?.correlation).toBe(2);
});

test("a token whose rights change ends its calls, to be judged by the new ones", async () => {
  const { id, token } = await server.mint("moved", inDefault("client"));
  const watch = await watchOf(token);
  await server.edit((entries) =>
    entries.map((entry) => (entry.id === id ? { ...entry, grants: inDefault("worker") } : entry)),
  );
  expect(await watch.ended).toBe("UNAVAILABLE PAWL_UNAVAILABLE");
  expect(await isLetIn(token)).toBe("PERMISSION_DENIED PAWL_PERMISSION_DENIED");
});

/** At once, so that the kernel never reads half of it. */
async function replace(path: string, content: string): Promise<void> {
  await writeFile(`${path}.new`, content, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

describe("a token file that cannot be used", () => {
  const damages: readonly (readonly [string, (path: string) => Promise<void>, RegExp])[] = [
    ["is no JSON", (path) => replace(path, "{"), /it is no JSON/],
    [
      "is of a newer version",
      (path) => replace(path, '{"version":2,"entries":[]}'),
      /its version is 2/,
    ],
    [
      "has an ill-formed entry",
      (path) => replace(path, '{"version":1,"entries":[{"id":"x"}]}'),
      /the id is no 12 hex digits in entry 1/,
    ],
    ["may be written by others", (path) => chmod(path, 0o622), /chmod 600/],
    ["is gone", (path) => rm(path), /it is gone/],
  ];

  test.each(damages)(
    "because it %s changes nothing, and is told by name",
    async (_, damage, said) => {
      const { token } = await server.mint("stays", inDefault("client"));
      const submit = openSubmit(token);
      await submit.next();
      await damage(server.path);
      await expect.poll(() => server.faults.length, { timeout: 20_000 }).toBe(1);
      const [fault] = server.faults;
      expect(String(fault?.error)).toMatch(said);
      expect(String(fault?.error)).toContain(server.path);
      expect(await isLetIn(token)).toBe("let in");
      expect(await isLetIn(undefined)).toBe(revoked);
      submit.send({ waits: [{ correlation: 2, runId: "absent" }] });
      expect((await submit.next()).results[0]?.correlation).toBe(2);
    },
  );

  test("keeps a kernel from starting", async () => {
    await writeFile(server.path, "{");
    const tokens = { path: server.path, isRequired: true };
    await expect(openTestServer({ tokens })).rejects.toMatchObject({
      code: "PAWL_TOKEN_FILE_INVALID",
    });
    await rm(server.path);
    await expect(openTestServer({ tokens })).rejects.toMatchObject({
      code: "PAWL_TOKEN_FILE_ABSENT",
    });
  });
});

test("the first token ends what nobody in particular had begun", async () => {
  await rm(server.path);
  const open = await openGuardedServer({ tokens: { path: server.path, isRequired: false } });
  try {
    const local = open.grpcWith().duplex(run.submit);
    local.send({ waits: [{ correlation: 1, runId: "absent" }] });
    await local.next();
    await server.edit((entries) => entries);
    expect(codeAndReason(await local.ended())).toBe(revoked);
  } finally {
    await open.close();
  }
});

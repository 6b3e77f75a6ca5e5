import { AccessDenied, type Client, connect, task } from "@pawl/sdk";
import { formatToken, hashSecret, makeSecret } from "@pawl/server/access/token.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type GuardedServer, openGuardedServer } from "./support.js";

const inDefault = (...roles: string[]) => [{ namespace: "default", roles }];
const double = task<number, number>("double").run((_ctx, value) => value * 2);

let server: GuardedServer;
const clients: Client[] = [];

beforeEach(async () => {
  server = await openGuardedServer();
});
afterEach(async () => {
  for (const client of clients.splice(0)) {
    await client.close({ drainMs: 0 });
  }
  await server.close();
});

function clientWith(token?: string | (() => string)): Client {
  const url = `http://127.0.0.1:${server.server.port}`;
  const client = connect({ url, ...(token === undefined ? {} : { token }) });
  clients.push(client);
  return client;
}

async function errorOf(work: Promise<unknown>): Promise<AccessDenied> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(AccessDenied);
  return error instanceof AccessDenied ? error : new AccessDenied("none");
}

describe("a client without a token that counts", () => {
  test.each([
    ["no token", undefined],
    ["an ill-formed one", "hello"],
    ["one that nobody made", formatToken({ id: "0123456789ab", secret: makeSecret() })],
  ])("is told so, with %s, and waits for nothing", async (_, token) => {
    const client = clientWith(token);
    const denied = await errorOf(client.start(double, 1));
    expect(denied.code).toBe("PAWL_UNAUTHENTICATED");
    expect(denied.message).toMatch(/pawl token create/);
    expect(denied.docs).toBe("docs/errors/PAWL_UNAUTHENTICATED.md");
    expect((await errorOf(client.worker({ serve: [double] }))).code).toBe("PAWL_UNAUTHENTICATED");
    expect((await errorOf(client.run("r").cancel())).code).toBe("PAWL_UNAUTHENTICATED");
  });
});

test("a client whose role is another is told which would do", async () => {
  const { token } = await server.mint("builder", inDefault("worker"));
  const client = clientWith(token);
  const denied = await errorOf(client.start(double, 1));
  expect(denied.code).toBe("PAWL_PERMISSION_DENIED");
  expect(denied.message).toMatch(/builder to have role client in namespace "default"/);
  await client.worker({ serve: [double] });
});

test("a token that is rotated is taken up without a restart of anything, also by a call on its way", async () => {
  const { id, token } = await server.mint("app", inDefault("client", "worker"));
  let current = token;
  const lost: unknown[] = [];
  const client = connect({
    url: `http://127.0.0.1:${server.server.port}`,
    token: () => current,
    onConnection: (state) => state.status === "waiting" && lost.push(state.error),
  });
  clients.push(client);
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow = task<number, number>("slow").run(async (_ctx, value) => {
    await released;
    return value;
  });
  await client.worker({ serve: [double, slow] });
  expect(await client.execute(double, 1, { timeout: "20s" })).toBe(2);
  const onItsWay = client.execute(slow, 7, { timeout: "40s" });
  const secret = makeSecret();
  current = formatToken({ id, secret });
  // The old secret ends at once: the streams that rest on it end as well, and come back with the new one.
  await server.edit((entries) =>
    entries.map((entry) => ({
      ...entry,
      secrets: [
        { hash: hashSecret(secret).toString("base64url"), createdAt: "2026-01-02T03:04:05.000Z" },
      ],
    })),
  );
  await expect.poll(() => lost, { timeout: 20_000 }).toContainEqual(expect.any(AccessDenied));
  expect(await client.execute(double, 2, { timeout: "20s" })).toBe(4);
  release();
  expect(await onItsWay).toBe(7);
  const { status } = await server.jsonWith(token).fetch("/metrics", {});
  expect(status).toBe(401);
});

test("a worker whose token is revoked gets no more work, and goes on once its token counts again", async () => {
  const builder = await server.mint("builder", inDefault("worker"));
  const shop = await server.mint("shop", inDefault("client"));
  await clientWith(builder.token).worker({ serve: [double] });
  const client = clientWith(shop.token);
  expect(await client.execute(double, 1, { timeout: "20s" })).toBe(2);
  const kept: Parameters<Parameters<typeof server.edit>[0]>[0][number][] = [];
  await server.edit((entries) => {
    kept.push(...entries.filter(({ id }) => id === builder.id));
    return entries.filter(({ id }) => id !== builder.id);
  });
  await expect
    .poll(async () => {
      const { status } = await server.jsonWith().fetch("/metrics", {
        headers: { authorization: `Bearer ${builder.token}` },
      });
      return status;
    })
    .toBe(401);
  const waiting = await client.start(double, 2);
  await expect(waiting.result({ timeout: "500ms" })).rejects.toMatchObject({
    code: "PAWL_WAIT_TIMED_OUT",
  });
  await server.edit((entries) => [...entries, ...kept]);
  expect(await waiting.result({ timeout: "40s" })).toBe(4);
});

import {
  AccessDenied,
  type Client,
  connect,
  json,
  operation,
  type ProposalInfo,
  task,
} from "@pawl/sdk";
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

/** Gives a token another secret, which is handed out first. The old one ends at once: the streams that rest on it end as well, and come back with the new one. */
async function rotate(id: string, hand: (token: string) => void): Promise<void> {
  const secret = makeSecret();
  const token = formatToken({ id, secret });
  hand(token);
  const secrets = [
    { hash: hashSecret(secret).toString("base64url"), createdAt: "2026-01-02T03:04:05.000Z" },
  ];
  await server.edit((entries) =>
    entries.map((entry) => (entry.id === id ? { ...entry, secrets } : entry)),
  );
  await expect.poll(() => statusWith(token)).toBe(200);
}

/** What the kernel answers to somebody with this token. */
async function statusWith(token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const { status } = await server.jsonWith().fetch("/metrics", { headers });
  return status;
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
  await rotate(id, (next) => {
    current = next;
  });
  await expect.poll(() => lost, { timeout: 20_000 }).toContainEqual(expect.any(AccessDenied));
  expect(await client.execute(double, 2, { timeout: "20s" })).toBe(4);
  release();
  expect(await onItsWay).toBe(7);
  expect(await statusWith(token)).toBe(401);
});

describe("whoever watches", () => {
  const refund = operation("refund", {
    payload: json<number>(),
    result: json<number>(),
    call: ({ payload }) => payload,
  });
  const pay = task("pay", { output: json<string>() }).run(async (ctx) => {
    const { status } = await ctx.approve(refund, 5, { target: "till", from: ["role:approver"] });
    return status;
  });

  /** A run that waits for an approval, and three streams that an approver has open. */
  async function openWatches() {
    const shop = await server.mint("shop", inDefault("client", "worker"));
    const { id, token } = await server.mint("boss", inDefault("approver"));
    const boss: { readonly id: string; token: string } = { id, token };
    await clientWith(shop.token).worker({ serve: [pay] });
    const client = connect({
      url: `http://127.0.0.1:${server.server.port}`,
      token: () => boss.token,
      onConnection: () => undefined,
    });
    clients.push(client);
    const seen: string[] = [];
    const changes = (async () => {
      for await (const { status } of client.approvals.watch()) {
        seen.push(`proposal ${status}`);
        if (status === "approved") return;
      }
    })();
    const run = await clientWith(shop.token).start(pay, undefined, { runId: "r" });
    const events = (async () => {
      for await (const { type } of client.run(run.runId).watch()) seen.push(type);
    })();
    await expect.poll(() => seen, { timeout: 20_000 }).toContain("TaskSuspended");
    await expect.poll(() => seen, { timeout: 20_000 }).toContain("proposal pending");
    const shown: ProposalInfo[] = [];
    for await (const each of client.approvals.list()) shown.push(each);
    const [proposal] = shown;
    if (proposal === undefined) throw new Error("Expected a proposal, but there is none.");
    const decided = client.approvals.await(proposal.proposalId);
    const all = [events, changes, decided] as const;
    return { boss, client, proposal, seen, all };
  }

  test("goes on when the token is rotated under the stream", async () => {
    const { boss, client, proposal, seen, all } = await openWatches();
    const over = Promise.all(all);
    await rotate(boss.id, (next) => {
      boss.token = next;
    });
    await client.approvals.approve(proposal, { reason: "fine" });
    expect((await over)[2].status).toBe("approved");
    expect(seen.filter((each) => /^(proposal|TaskCompleted)/.test(each)).sort()).toEqual([
      "TaskCompleted",
      "proposal approved",
      "proposal pending",
    ]);
  });

  test("is told when its token counts no more, by every stream", async () => {
    const { boss, all } = await openWatches();
    await server.edit((entries) => entries.filter(({ id }) => id !== boss.id));
    const codes = await Promise.all(all.map(async (each) => (await errorOf(each)).code));
    expect(codes).toEqual(Array(3).fill("PAWL_UNAUTHENTICATED"));
  });
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
  await expect.poll(() => statusWith(builder.token)).toBe(401);
  const waiting = await client.start(double, 2);
  await expect(waiting.result({ timeout: "500ms" })).rejects.toMatchObject({
    code: "PAWL_WAIT_TIMED_OUT",
  });
  await server.edit((entries) => [...entries, ...kept]);
  expect(await waiting.result({ timeout: "40s" })).toBe(4);
});

test("an operator, who may submit nothing, may still send signals", async () => {
  const starter = clientWith((await server.mint("starter", inDefault("client"))).token);
  await starter.start(double, 1, { runId: "r" });
  const operator = clientWith((await server.mint("operator", inDefault("operator"))).token);
  const sent = operator.run("r").signal("go", undefined, { requestId: "q" });
  expect(await sent).toMatchObject({ existing: false, version: 1 });
  expect((await operator.run("r").signal("go", undefined, { requestId: "q" })).existing).toBe(true);
  const reader = clientWith((await server.mint("reader", inDefault("approver"))).token);
  expect((await errorOf(reader.run("r").signal("go"))).code).toBe("PAWL_PERMISSION_DENIED");
});

import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { CredentialMode } from "@pawl/proto/v1/credential_policy_pb.js";
import { type Client, type EmbeddedKernel, json, openKernel, operation, task } from "@pawl/sdk";
import { Level } from "level";
import { afterEach, beforeEach, expect, test } from "vitest";
import { canaries } from "../content/support/canaries.js";

/** What must be nowhere: each canary's longest line, which the others do not have. */
const secrets = canaries.map(({ value }) =>
  value.split("\n").reduce((longest, line) => (line.length > longest.length ? line : longest)),
);

interface Order {
  readonly how: string;
  readonly secret: string;
}

const charge = operation("charge", {
  payload: json<Order>(),
  result: json<string>(),
  call: ({ payload }) => Promise.resolve(`receipt ${secretOf.get(payload.secret) ?? ""}`),
});
const secretOf = new Map(canaries.map(({ value }, index) => [`s${index}`, value]));

/** A task that lets a credential out as its order says; what it is given names the credential. */
const careless = task("careless", {
  input: json<Order>(),
  retry: { attempts: 2, initial: "1ms" },
}).run(async (ctx, { how, secret }): Promise<string | number | null> => {
  const value = secretOf.get(secret) ?? "";
  switch (how) {
    case "output":
      return value;
    case "step":
      return (await ctx.step("s", () => [value])).length;
    case "failure":
      throw Object.assign(new Error(`refused ${value}`, { cause: new Error(value) }), {
        data: { headers: [value] },
      });
    case "progress":
      ctx.progress({ note: value });
      ctx.emit(`line ${value}`);
      return null;
    case "intent":
      return await ctx.perform(charge, { how, secret: value }, { target: "till" });
    case "result":
      return (await ctx.perform(charge, { how, secret }, { target: "till" })).length;
    case "ask":
      return String(await ctx.ask("q", { question: `what is ${value}?` } as never));
    default:
      return null;
  }
});

const ways = ["output", "step", "failure", "progress", "intent", "result", "ask"];

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pawl-canaries-"));
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

/** What is asked of a client with a credential in it, each another way in. */
const asks: readonly ((client: Client, value: string, id: string) => Promise<unknown>)[] = [
  (client, value) => client.start(careless, { how: "start", secret: value }),
  (client, value, id) =>
    client.start(careless, { how: "", secret: "" }, { runId: `l${id}`, labels: { by: value } }),
  (client, value) =>
    client.start(careless, { how: "", secret: "" }, { runId: value.slice(0, 150) }),
  (client, value, id) => client.run(id).signal("go", { value } as never),
  (client, value, id) => client.run(id).cancel({ reason: value } as never),
  (client, value, id) =>
    client.perform(
      charge,
      { how: "", secret: value },
      { scope: "namespace", key: id, timeout: "5s" },
    ),
];

/** Lets each credential out in every way, and gives all that can be read of it afterwards. */
async function play(kernel: EmbeddedKernel): Promise<string> {
  const worker = await kernel.worker({ serve: [careless], slots: 64 });
  const runs = await Promise.all(
    canaries.map(async ({ value }, index) => {
      const how = ways[index % ways.length] ?? "";
      const run = await kernel.start(
        careless,
        { how, secret: `s${index}` },
        { runId: `r${index}` },
      );
      const told = await Promise.allSettled([
        run.result({ timeout: "20s" }),
        ...asks.map((ask) => ask(kernel, value, `r${index}`)),
      ]);
      return [run.runId, inspect(told, { depth: 8, maxStringLength: null })] as const;
    }),
  );
  const shown: string[] = runs.map(([, told]) => told);
  for (const [runId] of runs) {
    for await (const page of kernel.api.runs.getHistory({ runId })) shown.push(all(page));
    shown.push(
      all(await kernel.api.runs.getRecoveryReport({ runId })),
      all(await kernel.api.runs.getRun({ runId })),
    );
    for await (const entry of kernel.api.runs.readOutput({ runId })) shown.push(all(entry));
  }
  shown.push(all(await kernel.api.reviews.listReviews({})));
  await worker.close();
  return shown.join("\n");
}

function all(message: unknown): string {
  const text = JSON.stringify(message, (_, value: unknown) =>
    typeof value === "bigint"
      ? String(value)
      : value instanceof Uint8Array
        ? Buffer.from(value).toString("latin1")
        : value,
  );
  return text ?? "";
}

/** Everything that lies in a folder: each file as it is, and what LevelDB reads of its tables. */
async function bytesIn(folder: string): Promise<string> {
  const parts: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) {
      parts.push((await readFile(join(entry.parentPath, entry.name))).toString("latin1"));
    }
  }
  const level = new Level<Uint8Array, Uint8Array>(join(folder, "db"), {
    ...{ keyEncoding: "view", valueEncoding: "view", createIfMissing: false },
  });
  for await (const [key, value] of level.iterator()) {
    parts.push(Buffer.from(key).toString("latin1"), Buffer.from(value).toString("latin1"));
  }
  await level.close();
  return parts.join("\n");
}

const foundIn = (text: string): string[] => secrets.filter((secret) => text.includes(secret));

test("no credential is found in the data folder, nor in anything that can be read", async () => {
  const kernel = await openKernel({ dir });
  const shown = await play(kernel);
  await kernel.close();
  const stored = await bytesIn(dir);
  expect(stored).toContain("[redacted:");
  expect(foundIn(stored)).toEqual([]);
  expect(foundIn(shown)).toEqual([]);
}, 120_000);

test("the scan finds them where a namespace allows them", async () => {
  const kernel = await openKernel({ dir });
  await kernel.api.admin.setCredentialPolicy({ mode: CredentialMode.ALLOW });
  await play(kernel);
  await kernel.close();
  expect(foundIn(await bytesIn(dir)).length).toBeGreaterThan(30);
}, 120_000);

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { json, operation, workflow } from "@pawl/sdk";
import { openTestEnvironment } from "@pawl/sdk/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const bin = fileURLToPath(new URL("../../server/bin/pawl.js", import.meta.url));
const module = fileURLToPath(new URL("support/replay-shop.js", import.meta.url));

const packages = fileURLToPath(new URL("../../node_modules", import.meta.url));

interface End {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

let folder = "";

function pawl(...args: string[]): Promise<End> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [bin, ...args],
      { cwd: folder, timeout: 60_000, killSignal: "SIGKILL" },
      (_, out, errors) => resolve({ code: child.exitCode ?? -1, out, errors }),
    );
  });
}

const charge = operation("payments.charge", {
  payload: json<{ readonly cents: number }>(),
  result: json<string>(),
  sink: { kind: "idempotent", keyWindow: "24h" },
  call: () => "r-1",
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl-replay-"));
  await using env = await openTestEnvironment();
  const shop = workflow("shop", { version: 1, input: json<{ readonly cents: number }>() }).run(
    async (ctx, { cents }) => {
      const price = await ctx.step("price", () => cents);
      await ctx.perform(charge, { cents: price }, { target: "card" });
      await ctx.waitSignal("ship");
      return "shipped";
    },
  );
  await env.worker({ serve: [shop] });
  await env.kernel.start(shop, { cents: 5 }, { runId: "s" });
  await env.settle();
  const history = await env.history("s");
  if (typeof history === "string") throw new Error("expected events");
  await writeFile(
    join(folder, "shop.jsonl"),
    history.map((event) => `${JSON.stringify(event)}\n`).join(""),
  );
  await writeFile(join(folder, "none.jsonl"), '{"number":1}\n');
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe("pawl replay", () => {
  it("says of each version that the module exports whether it fits, and ends with 1 when one does not", async () => {
    const { code, out, errors } = await pawl("replay", "shop.jsonl", "--module", module);
    expect({ code, errors }).toEqual({ code: 1, errors: "" });
    expect(out).toContain("shop@1 fits the history; over it, the code goes on.");
    expect(out).toContain("shop@2 does not fit the history");
    expect(out).toContain("payments.charge");
  });

  it("prints an object a line with --json", async () => {
    const { out } = await pawl("replay", "shop.jsonl", "--module", module, "--json");
    const [first, second] = out
      .trim()
      .split("\n")
      .map((line): unknown => JSON.parse(line));
    expect(first).toEqual({
      workflow: "shop@1",
      fits: true,
      difference: "",
      unvisited: [],
      next: [],
      end: "goes on",
    });
    expect(second).toMatchObject({ workflow: "shop@2", fits: false });
  });

  it("ends although the module holds the process", async () => {
    await symlink(packages, join(folder, "node_modules"));
    const held = `export { shop } from ${JSON.stringify(module)};\nsetInterval(() => {}, 1000);\n`;
    await writeFile(join(folder, "held.mjs"), held);
    const { code, out } = await pawl("replay", "shop.jsonl", "--module", "held.mjs");
    expect(code).toBe(0);
    expect(out).toContain("shop@1 fits the history");
  });

  it("is told that a history lacks its first events, and by whose rule", async () => {
    const [, ...rest] = (await readFile(join(folder, "shop.jsonl"), "utf8")).split("\n");
    await writeFile(join(folder, "late.jsonl"), rest.join("\n"));
    const { code, errors } = await pawl("replay", "late.jsonl", "--module", module);
    expect(code).toBe(1);
    expect(errors).toContain("Expected event 1 first, but it is event 2");
    expect(errors).toContain("Reason: PAWL_TEST_MISUSED");
  });

  it("says what is missing when the file is no such history, or is not there", async () => {
    const none = await pawl("replay", "none.jsonl", "--module", module);
    expect(none.code).toBe(1);
    expect(none.errors).toContain("--json --stored");
    const absent = await pawl("replay", "absent.jsonl", "--module", module);
    expect(absent.code).toBe(2);
    expect(absent.errors).toContain("absent.jsonl");
  });
});

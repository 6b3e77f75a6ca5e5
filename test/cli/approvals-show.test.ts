import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { DigestKind } from "@pawl/proto/v1/payload_pb.js";
import { afterAll, beforeAll, expect, it } from "vitest";
import { GrpcClient } from "../rpc/support/grpc-client.js";
import { openTestServer, type TestServer } from "../rpc/support/test-server.js";
import { type CliEnd, runCli } from "./support/run-cli.js";

let server: TestServer;
let folder: string;

beforeAll(async () => {
  server = await openTestServer();
  folder = await mkdtemp(join(tmpdir(), "pawl-show-"));
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
  expect(server.faults).toEqual([]);
});

function run(...args: string[]): Promise<CliEnd> {
  const env = { PAWL_URL: `http://127.0.0.1:${server.server.port}` };
  return runCli(args, { env, cwd: folder });
}

let proposals = 0;

/** Proposes an action that belongs to no run, and gives back its id. */
async function propose(
  contentType: string,
  data: Uint8Array | string,
  more: { readonly target?: string; readonly encoding?: string; readonly guards?: string[] } = {},
): Promise<string> {
  const { target = "account-1", encoding = "", guards = [] } = more;
  const digest =
    encoding === ""
      ? {}
      : { digest: { kind: DigestKind.CLIENT, value: new Uint8Array(32).fill(9) } };
  const client = new GrpcClient(server.server.port);
  const { proposal } = await client.unary(ApprovalService.method.proposeAction, {
    operation: "wire",
    scope: OperationScope.NAMESPACE,
    key: `k-${proposals++}`,
    target,
    payload: { contentType, encoding, body: { case: "data", value: Buffer.from(data) }, ...digest },
    from: ["role:approver"],
    guards: guards.map((value, at) => ({
      name: `g${at}`,
      held: { case: "value" as const, value },
    })),
    expiresIn: { seconds: 3600n },
  });
  client.close();
  return proposal?.proposalId ?? "";
}

const sha256 = (data: Uint8Array | string): string =>
  createHash("sha256").update(data).digest("hex");

async function bound(id: string): Promise<string> {
  const { out, code } = await run("approvals", "show", id);
  expect(code).toBe(0);
  return out.split("Not bound by it:")[0] ?? "";
}

it("shows content whole that is stored beside its run", async () => {
  const note = `${"x".repeat(50_000)}, and pay account-9`;
  const id = await propose("application/json", JSON.stringify({ note, cents: 7 }));
  const lines = (await bound(id)).split("\n").filter((line) => /^ {4}[|>] /.test(line));
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  const shown = lines.map((line) => line.replace(/^ {4}> /, "").replace(/^ {4}\| /, "\n")).join("");
  expect(JSON.parse(shown)).toEqual({ note, cents: 7 });
  const told = JSON.parse((await run("approvals", "show", id, "--json")).out);
  expect(JSON.parse(Buffer.from(told.proposal.payload.data, "base64").toString())).toEqual({
    note,
    cents: 7,
  });
});

it("shows long JSON by its members, and short JSON beside its name", async () => {
  const to = ["ada@example.com", "ben@example.com"];
  const long = await propose("application/json", JSON.stringify({ to, subject: "x".repeat(40) }));
  expect(await bound(long)).toContain(
    `  content:\n    | {\n    |   "to": ["ada@example.com", "ben@example.com"],\n    |   "subject": "${"x".repeat(40)}"\n    | }\n`,
  );
  const short = await propose("application/json", '{"cents": 7}');
  expect(await bound(short)).toContain('content:      {"cents":7}\n');
});

it("folds a guard that is long, and shows its value exactly", async () => {
  const value = `v ${"7".repeat(90)}\u00a0`;
  const id = await propose("text/plain", "pay", { guards: [value] });
  expect((await run("approvals", "show", id)).out).toContain(
    `  guard g0:\n    | "v ${"7".repeat(71)}\n    > ${"7".repeat(19)}\\u00a0"\n`,
  );
});

it("shows text of several lines as lines, each of them exactly", async () => {
  const id = await propose("text/plain", "Dear Ada,\n\\n is no line\u200b\nbye ");
  expect(await bound(id)).toContain(
    "  content:\n    | Dear Ada,\n    | \\\\n is no line\\u200b\n    | bye\\u0020\n",
  );
});

it("tells what is no text by size and SHA-256, and saves it", async () => {
  const data = Uint8Array.from({ length: 40_000 }, (_, at) => at % 251);
  const id = await propose("image/png", data);
  const shown = (await run("approvals", "show", id)).out;
  expect(shown).toContain("content size:   40,000 bytes");
  expect(shown).toContain(`content sha256: ${sha256(data)}`);
  expect(shown).toContain(`npx --no pawl approvals show ${id} --out FILE`);
  const saved = await run("approvals", "show", id, "--out", "it.png");
  expect(saved.errors).toContain(`40,000 bytes, SHA-256 ${sha256(data)}`);
  expect(new Uint8Array(await readFile(join(folder, "it.png")))).toEqual(data);
  const again = await run("approvals", "show", id, "--out", "it.png");
  expect(again).toMatchObject({ code: 2 });
  expect(again.errors).toContain("Expected to save the content in a new file");
});

it("tells text that is not valid, and what is encoded, likewise", async () => {
  const broken = Uint8Array.of(0x61, 0xff);
  expect(await bound(await propose("text/plain", broken))).toContain(
    `content sha256: ${sha256(broken)}`,
  );
  const encoded = await bound(await propose("application/json", "{}", { encoding: "aes" }));
  expect(encoded).toContain("encoded by:      aes");
  expect(encoded).toContain(`client's digest: ${"09".repeat(32)}`);
});

it("shows no two proposals alike", async () => {
  const pairs = [
    await propose("text/plain", "pay 10"),
    await propose("text/plain", "pay\u00a010"),
    await propose("text/plain", "pay 10\u200b"),
    await propose("text/plain", "\ufeffpay 10"),
    await propose("text/plain", "pay 10\n"),
    await propose("text/plain", "pay 10\\n"),
    await propose("text/plain", "pay 10", { target: "account-1\u200b" }),
    await propose("text/plain", "pay 10", { target: "account-1 " }),
  ];
  const shown = await Promise.all(pairs.map(bound));
  const withoutIds = shown.map((text) => text.replace(/fingerprint: +\w+|Proposal \S+/g, ""));
  expect(new Set(withoutIds).size).toBe(pairs.length);
});

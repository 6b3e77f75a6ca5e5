import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { ExportChain } from "@pawl/server/kernel/export/export-chain.js";
import { ExportDamaged, ExportVerifier } from "@pawl/server/kernel/export/export-verifier.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCli } from "../cli/support/run-cli.js";
import { oneTask } from "../rpc/support/fixtures.js";
import type { GrpcClient } from "../rpc/support/grpc-client.js";
import { type GuardedServer, openGuardedServer, temporaryFolder } from "./support.js";

const { method: run } = RunService;
const { method: admin } = AdminService;
const theirs = "secret-namespace";
const secrets = [theirs, "secret-reason", "secret-keeper"];

let server: GuardedServer;
let root: GrpcClient;
let keeper: GrpcClient;
let starter: GrpcClient;

beforeAll(async () => {
  server = await openGuardedServer();
  root = await clientOf("root", "*", "admin");
  await root.unary(admin.createNamespace, { name: "ours" });
  await root.unary(admin.createNamespace, { name: theirs });
  keeper = await clientOf("secret-keeper", theirs, "admin");
  await root.unary(admin.setLegalHold, { namespace: "ours", held: true, reason: "our-reason" });
  starter = await clientOf("starter", "ours", "client");
  await ended(0);
});
afterAll(async () => {
  await server.close();
  expect(server.faults).toEqual([]);
});

async function clientOf(name: string, namespace: string, role: string): Promise<GrpcClient> {
  return server.grpcWith((await server.mint(name, [{ namespace, roles: [role] }])).token);
}

async function ended(number: number): Promise<void> {
  const runId = `r${number}`;
  await starter.unary(run.startRuns, { namespace: "ours", runs: [oneTask(runId, "k")] });
  await root.unary(run.terminateRun, { namespace: "ours", runId, reason: "over" });
}

async function exported(client: GrpcClient): Promise<string[]> {
  const lines: string[] = [];
  for await (const message of client.stream(run.exportRuns, {
    namespace: "ours",
    runIds: ["r0"],
  })) {
    lines.push(...message.lines);
  }
  return lines;
}

/** Which of the texts stand in an export, as they are or within what it has in base64. */
function found(lines: readonly string[], texts: readonly string[]): string[] {
  const all = lines.flatMap((line) => {
    const data = /"(?:data|stored)":"([^"]*)"/g;
    return [line, ...[...line.matchAll(data)].map(([, text = ""]) => atob(text))];
  });
  return texts.filter((text) => all.some((each) => each.includes(text)));
}

function verify(lines: readonly string[]): ReturnType<ExportVerifier["finish"]> {
  const verifier = new ExportVerifier();
  for (const line of lines) verifier.line(line);
  return verifier.finish();
}

describe("an export of one namespace", () => {
  test("is given the seals, in which every namespace stands, for an admin of all alone", async () => {
    // A seal and what is done to the other namespace come to lie in one chunk.
    let rounds = 0;
    await expect
      .poll(
        async () => {
          const hold = { namespace: theirs, held: rounds % 2 === 0, reason: "secret-reason" };
          await keeper.unary(admin.setLegalHold, hold);
          await ended(++rounds);
          return found(await exported(root), secrets);
        },
        { timeout: 30_000, interval: 100 },
      )
      .toEqual(secrets);
    expect(verify(await exported(root))).toMatchObject({ seals: true, sealedChunks: 1, chunks: 1 });
    for (const [name, namespace, role] of [
      ["reader", "ours", "client"],
      ["judge", "ours", "approver"],
      ["our-admin", "ours", "admin"],
      ["operator", "*", "operator"],
    ] as const) {
      const lines = await exported(await clientOf(name, namespace, role));
      expect([name, found(lines, secrets)]).toEqual([name, []]);
      expect(found(lines, ["over"])).toEqual(["over"]);
      expect(verify(lines)).toMatchObject({ seals: false, sealedChunks: 0, chunks: 1, runs: 1 });
    }
  });

  test("without seals is told to be so by who checks it", async () => {
    const folder = await temporaryFolder();
    const reader = await clientOf("auditor", "ours", "client");
    for (const [name, client] of Object.entries({ part: reader, whole: root })) {
      const text = (await exported(client)).map((line) => `${line}\n`).join("");
      await writeFile(join(folder, name), text);
    }
    const check = (name: string) => runCli(["export", "verify", name], { cwd: folder });
    const [part, whole] = [await check("part"), await check("whole")];
    expect([part.code, whole.code]).toEqual([0, 0]);
    expect(part.out).toContain("the seals of the store are not part of it");
    expect(whole.out).toContain("the store sealed all of them");
  });

  test("that says that it holds no seals must hold none", async () => {
    const lines = await exported(root);
    const chain = new ExportChain();
    const changed = lines.map((line, index) => {
      const { chain: _, ...fields } = JSON.parse(line);
      return chain.write(index === 0 ? { ...fields, seals: false } : fields);
    });
    const first = lines.findIndex((line) => line.startsWith('{"kind":"seal'));
    expect(first).toBeGreaterThan(0);
    expect(() => verify(changed)).toThrow(ExportDamaged);
    expect(() => verify(changed)).toThrow(`Line ${first + 1}: Expected no seals`);
  });
});

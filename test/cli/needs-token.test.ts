import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GrpcClient } from "../rpc/support/grpc-client.js";
import { openTestServer, type TestServer } from "../rpc/support/test-server.js";
import { wordsOf } from "./support/pawl-process.js";
import { type CliEnd, runCli } from "./support/run-cli.js";

let server: TestServer;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl-needs-"));
  const path = join(folder, ".pawl", "tokens.json");
  server = await openTestServer({ tokens: { path, isRequired: false } });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

function run(...args: readonly string[]): Promise<CliEnd> {
  const env = { PAWL_URL: `http://127.0.0.1:${server.server.port}` };
  return runCli(args, { env, cwd: folder });
}

async function propose(from: string[], requesterMayDecide: boolean): Promise<string> {
  const client = new GrpcClient(server.server.port);
  const { proposal } = await client.unary(ApprovalService.method.proposeAction, {
    operation: "pay",
    scope: OperationScope.NAMESPACE,
    key: `${from} ${requesterMayDecide}`,
    payload: { contentType: "application/json", body: { case: "data", value: Buffer.from("7") } },
    from,
    requesterMayDecide,
    expiresIn: { seconds: 3600n },
  });
  client.close();
  return proposal?.proposalId ?? "";
}

/** What `approvals show` tells a person to do next. */
async function nextOf(id: string): Promise<string[]> {
  const { out } = await run("approvals", "show", id);
  return (out.split("Next:\n")[1] ?? "").trim().split(/\n */);
}

describe("somebody without a token", () => {
  it("is offered to decide what whoever is there may decide", async () => {
    for (const who of ["role:finance", "user:local"]) {
      const id = await propose([who], true);
      const next = await nextOf(id);
      expect(next).toHaveLength(2);
      expect(next[0]).toMatch(new RegExp(`approvals approve ${id} --fingerprint [0-9a-f]{16}$`));
    }
  });

  it("is told that a user by name needs a token, and how to make that one", async () => {
    const [why, make] = await nextOf(await propose(["user:ann"], true));
    expect(why).toMatch(
      /^Deciding needs a token: without one everybody is "local", who may not decide this; the first token lets nobody in without one, workers neither, so make theirs first \(--role worker --role client\)\. /,
    );
    expect(make).toBe("npx --no pawl token create --name ann --role approver > ann.token");
  });

  it("is told what a decision about its own wish needs; it works as it is printed", async () => {
    const id = await propose(["role:finance"], false);
    const [why = "", make = "", approve = "", reject = ""] = await nextOf(id);
    expect(why).toContain("since it may be the requester");
    expect(reject).toContain("--token-file NAME.token --reason TEXT");
    const direct = approve.replace(" --token-file NAME.token", "");
    expect((await run(...wordsOf(direct))).errors).toContain("PAWL_NOT_ENTITLED");
    const [command = "", file = ""] = make.split(" > ");
    expect(command).toBe("npx --no pawl token create --name NAME --role approver --role finance");
    await writeFile(join(folder, file), (await run(...wordsOf(command))).out, { mode: 0o600 });
    await expect
      .poll(async () => (await run(...wordsOf(approve))).out, { timeout: 30_000 })
      .toContain("is approved: its operation may be performed once");
    const shown = await run("approvals", "show", id, "--token-file", file);
    expect(shown.out).toMatch(/decision: +approved by NAME as approver, finance/);
  });
});

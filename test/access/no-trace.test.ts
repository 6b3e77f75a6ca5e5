import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { parseToken } from "@pawl/server/access/token.js";
import { type HostedKernel, hostKernel } from "@pawl/server/cli/serve/host-kernel.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runCli } from "../cli/support/run-cli.js";
import { oneTask } from "../rpc/support/fixtures.js";
import { GrpcClient } from "../rpc/support/grpc-client.js";
import { JsonClient } from "../rpc/support/json-client.js";

let folder: string;
let kernel: HostedKernel | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl-trace-"));
});
afterEach(async () => {
  await kernel?.close();
  await rm(folder, { recursive: true });
});

/** Every file below a folder, as bytes. */
async function filesIn(directory: string): Promise<readonly (readonly [string, Buffer])[]> {
  const names = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = names
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name));
  return await Promise.all(files.map(async (path) => [path, await readFile(path)] as const));
}

test("no token reaches the data folder or the log, whether it counts or not", async () => {
  const made = await runCli(
    ["token", "create", "--dir", "data", "--name", "shop", "--role", "client"],
    { cwd: folder },
  );
  expect(made.code).toBe(0);
  const token = made.out.trim();
  const secret = parseToken(token)?.secret ?? "";
  expect(secret).toHaveLength(43);
  const wrong = `${token.slice(0, -6)}wronG1`;
  let log = "";
  kernel = await hostKernel(
    {
      writeOut: () => {},
      writeError: () => {},
      writeLog: (text) => {
        log += text;
      },
      useColour: false,
      isInteractive: false,
      clock: { nowMs: () => Date.now(), offsetMinutes: () => 0 },
      cwd: folder,
      env: {},
      onStdinEnd: () => () => {},
    },
    { dir: "data", host: "127.0.0.1", port: 0, logLevel: "debug" },
  );
  for (const sent of [token, wrong, "not-even-a-token-8d1f"]) {
    const grpc = new GrpcClient(kernel.port, sent);
    const clients = [grpc, new JsonClient(kernel.port, sent)];
    for (const [index, client] of clients.entries()) {
      const runs = [oneTask(`r${index}`, "k")];
      await client.unary(RunService.method.startRuns, { runs }).catch(() => undefined);
    }
    grpc.close();
  }
  const started = new GrpcClient(kernel.port, token);
  const { runs } = await started.unary(RunService.method.listRuns, {});
  started.close();
  expect(runs).toHaveLength(2);
  await kernel.close();
  kernel = undefined;
  const files = await filesIn(join(folder, "data"));
  expect(files.length).toBeGreaterThan(5);
  const needles = [secret, "wronG1", "not-even-a-token-8d1f", "Bearer"];
  for (const needle of needles) {
    const holders = files.filter(([, bytes]) => bytes.includes(needle)).map(([path]) => path);
    expect([needle, holders]).toEqual([needle, []]);
    expect(log).not.toContain(needle);
  }
  expect(log).toContain("The kernel listens");
});

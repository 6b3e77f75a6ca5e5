import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type PawlProcess,
  printedCommands,
  runPawl,
  shellIn,
  startPawl,
} from "./support/pawl-process.js";
import { runCli } from "./support/run-cli.js";

let folder: string;
let started: PawlProcess[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl serve-"));
  started = [];
});

afterEach(async () => {
  for (const { child, end } of started) {
    child.kill("SIGKILL");
    await end;
  }
  await rm(folder, { recursive: true });
});

/** Runs a command that ends by itself, in this process. */
function run(args: readonly string[]): ReturnType<typeof runCli> {
  return runCli(args, { cwd: folder });
}

interface Served extends PawlProcess {
  readonly port: number;
}

async function serve(...args: string[]): Promise<Served> {
  const kernel = startPawl(folder, ["serve", "--port", "0", "--json", ...args]);
  started.push(kernel);
  return { ...kernel, port: readPort(await kernel.line(1)) };
}

function readPort(line: string): number {
  const { listening } = JSON.parse(line);
  expect(Object.keys(listening)).toEqual(["host", "port"]);
  return listening.port;
}

async function readHint(): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(folder, ".pawl", "kernel.json"), "utf8"));
}

describe("pawl serve", () => {
  it("makes a store, says where it listens, and stops on SIGTERM with 0", async () => {
    const kernel = await serve();
    const { pid, port, startedAt } = await readHint();
    expect([pid, port]).toEqual([kernel.child.pid, kernel.port]);
    expect(startedAt).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    kernel.child.kill("SIGTERM");
    const end = await kernel.end;
    expect([end.code, end.signal]).toEqual([0, null]);
    expect(end.out).toBe(`{"listening":{"host":"127.0.0.1","port":${kernel.port}}}\n`);
    expect(await readdir(join(folder, ".pawl"))).toEqual(expect.arrayContaining(["STORE", "db"]));
    expect(await readdir(join(folder, ".pawl"))).not.toContain("kernel.json");
  });

  it("speaks to people in sentences", async () => {
    const kernel = startPawl(folder, ["serve", "--port", "0"]);
    started.push(kernel);
    expect(await kernel.line(1)).toMatch(
      /^Pawl serves a new store in \.pawl at http:\/\/127\.0\.0\.1:\d+\. Stop it with Ctrl-C; nothing acknowledged is lost\.$/,
    );
    kernel.child.kill("SIGINT");
    const end = await kernel.end;
    expect(end.code).toBe(0);
    expect(end.errors).toMatch(/^Stopping \(SIGINT\): /m);
  });

  it("stops when its parent is gone, if asked to", async () => {
    const kernel = await serve("--exit-with-parent");
    kernel.child.stdin?.end();
    expect((await kernel.end).code).toBe(0);
  });

  it("stays when stdin ends, if not asked to", async () => {
    const kernel = await serve();
    kernel.child.stdin?.end();
    const info = await run(["info", "--json"]);
    expect(info.code).toBe(0);
    expect(kernel.child.exitCode).toBeNull();
  });

  it("is found by other commands in the same folder, by the address it was given", async () => {
    const kernel = await serve("--host", "localhost");
    const info = await run(["info"]);
    expect(info.errors).toBe("");
    expect(info.out).toContain(`answers at http://localhost:${kernel.port}.`);
  });
});

describe("pawl serve, when something is in the way", () => {
  it("names the process that has the folder, and how to ask it", async () => {
    const kernel = await serve();
    const shell = await shellIn(folder);
    const second = await run(["serve", "--port", "0"]);
    expect(second.code).toBe(1);
    expect(second.errors).toContain(
      `process ${kernel.child.pid} (port ${kernel.port}) has it open`,
    );
    expect(second.errors).toContain("Reason: PAWL_STORE_LOCKED (exit code 1)");
    const [ask = ""] = printedCommands(second.errors);
    expect((await shell(ask)).out).toContain(`answers at http://127.0.0.1:${kernel.port}.`);
  });

  it("names the store of the kernel that has the port", async () => {
    const kernel = await serve();
    const info = JSON.parse((await run(["info", "--json"])).out);
    const args = ["serve", "--dir", "other", "--port", `${kernel.port}`];
    const second = await run(args);
    expect(second.code).toBe(1);
    expect(second.errors).toContain(`a Pawl kernel on store ${info.storeId}`);
    expect(printedCommands(second.errors)).toEqual([
      `npx --no pawl info --url http://127.0.0.1:${kernel.port}`,
      "npx --no pawl serve --port 0 --dir other",
    ]);
  });

  it.runIf(process.platform === "linux")("names the other program that has the port", async () => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const end = await run(["serve", "--port", `${port}`, "--json"]);
    await new Promise((resolve) => server.close(resolve));
    expect(end.code).toBe(1);
    const { error } = JSON.parse(end.errors.trim());
    expect(error.reason).toBe("PAWL_PORT_IN_USE");
    expect(error.message).toContain(`another program, process ${process.pid} (`);
    expect(error.next).toEqual(["npx --no pawl serve --port 0 --dir .pawl"]);
  });

  it("restates all that guards the kernel in the command that serves elsewhere", async () => {
    const made = await run(
      ["token", "create", "--tokens", "t.json"].concat(["--name", "a", "--role", "admin"]),
    );
    expect(made.code).toBe(0);
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const guards = ["--tokens", "t.json", "--allow-host", "pawl.test", "--host", "localhost"];
    const end = await run(["serve", "--port", `${port}`, "--json", ...guards]);
    await new Promise((resolve) => server.close(resolve));
    const { error } = JSON.parse(end.errors.trim());
    expect(error.reason).toBe("PAWL_PORT_IN_USE");
    expect(error.next).toEqual([
      "npx --no pawl serve --port 0 --host localhost --allow-host pawl.test --dir .pawl --tokens t.json",
    ]);
  });

  it("keeps out of a folder that holds something else", async () => {
    await mkdir(join(folder, "papers"));
    await writeFile(join(folder, "papers", "letter.txt"), "dear");
    const end = await run(["serve", "--dir", "papers", "--port", "0"]);
    expect(end.code).toBe(1);
    expect(end.errors).toContain("Reason: PAWL_STORE_FOREIGN (exit code 1)");
    expect(await readdir(join(folder, "papers"))).toEqual(["letter.txt"]);
  });

  it("refuses an address that others can reach", async () => {
    const end = await run(["serve", "--host", "0.0.0.0", "--port", "0"]);
    expect(end.code).toBe(1);
    expect(end.errors).toContain("PAWL_HOST_REFUSED");
  });
});

describe("pawl serve --restart", () => {
  it("starts the kernel afresh on the same port when it was killed, and stops it when asked", async () => {
    const parent = await serve("--restart");
    const first = await readHint();
    expect(first["pid"]).not.toBe(parent.child.pid);
    process.kill(Number(first["pid"]), "SIGKILL");
    expect(readPort(await parent.line(2))).toBe(parent.port);
    const second = await readHint();
    expect(second["pid"]).not.toBe(first["pid"]);
    parent.child.kill("SIGTERM");
    const end = await parent.end;
    expect(end.code).toBe(0);
    expect(end.errors).toContain("The kernel was ended by SIGKILL; it starts afresh from disk");
    expect(() => process.kill(Number(second["pid"]), 0)).toThrow("ESRCH");
  });

  it("does not try again what never listened", async () => {
    await mkdir(join(folder, "papers"));
    await writeFile(join(folder, "papers", "letter.txt"), "dear");
    const end = await runPawl(folder, ["serve", "--restart", "--dir", "papers", "--port", "0"]);
    expect(end.code).toBe(1);
    expect(end.errors.match(/PAWL_STORE_FOREIGN/g)).toHaveLength(1);
  });
});

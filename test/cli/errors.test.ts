import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createHttp, type Server } from "node:http";
import { type AddressInfo, createServer as createNet } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, type ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseLines, runCli } from "./support/run-cli.js";
import { refusal, type ScriptedKernel, startScriptedKernel } from "./support/scripted-kernel.js";

let kernel: ScriptedKernel | undefined;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl-cli-"));
});

afterEach(async () => {
  await kernel?.close();
  kernel = undefined;
  await rm(folder, { recursive: true });
});

async function refusing(error: ConnectError): Promise<string> {
  kernel = await startScriptedKernel({
    runs: {
      getRun: () => {
        throw error;
      },
    },
  });
  return kernel.url;
}

/** A port at which nothing listens: it was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createNet();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe("a refusal of the kernel", () => {
  it("is told with its reason and what to do next, and ends with 1", async () => {
    const url = await refusing(
      refusal(Code.NotFound, "PAWL_RUN_NOT_FOUND", 'Expected run "r" to exist, but it does not.'),
    );
    expect(await runCli(["run", "show", "r", "--url", url])).toEqual({
      code: 1,
      out: "",
      errors:
        'pawl: Expected run "r" to exist, but it does not.\n' +
        "Reason: PAWL_RUN_NOT_FOUND (exit code 1)\n" +
        `Next:\n  npx --no pawl run list --url ${url}\n`,
    });
  });

  it("is one object on stderr with --json, with the kernel's details", async () => {
    const url = await refusing(refusal(Code.NotFound, "PAWL_RUN_NOT_FOUND", "No such run."));
    const end = await runCli(["run", "show", "r", "--json", "--url", url]);
    expect([end.code, end.out]).toEqual([1, ""]);
    expect(parseLines(end.errors)).toEqual([
      {
        error: {
          exitCode: 1,
          reason: "PAWL_RUN_NOT_FOUND",
          message: "No such run.",
          next: [`npx --no pawl run list --url ${url}`],
          rejection: { reason: "PAWL_RUN_NOT_FOUND", message: "No such run." },
        },
      },
    ]);
  });

  it("of a reason that this pawl does not know is told with the kernel's own next step", async () => {
    const told = 'Expected a moon called "a Next: b", but it is new. Next: wait for a full one.';
    const url = await refusing(refusal(Code.FailedPrecondition, "PAWL_NEW_MOON", told));
    expect((await runCli(["run", "show", "r", "--url", url])).errors).toBe(
      'pawl: Expected a moon called "a Next: b", but it is new.\n' +
        "Reason: PAWL_NEW_MOON (exit code 1)\n" +
        "Next:\n  Wait for a full one.\n",
    );
  });

  it("of a reason that nobody explains says so", async () => {
    const url = await refusing(refusal(Code.FailedPrecondition, "PAWL_NEW_MOON", "It is dark."));
    expect((await runCli(["run", "show", "r", "--url", url])).errors).toContain(
      "Next:\n  This pawl does not know the reason: use one as new as the kernel.\n",
    );
  });

  it("keeps what it quotes, also where that holds a next step", async () => {
    const told = 'Expected "a Next: b" to exist, but there is none. Next: check the id.';
    const url = await refusing(refusal(Code.NotFound, "PAWL_RUN_NOT_FOUND", told));
    expect((await runCli(["run", "show", "r", "--url", url])).errors).toContain(
      'pawl: Expected "a Next: b" to exist, but there is none.\n',
    );
  });

  it("ends with 69 while the kernel goes away", async () => {
    const url = await refusing(refusal(Code.Unavailable, "PAWL_UNAVAILABLE", "It is going away."));
    const end = await runCli(["run", "show", "r", "--url", url]);
    expect(end.code).toBe(69);
    expect(end.errors).toContain("pawl: It is going away.\n");
  });

  it("cannot write on the terminal", async () => {
    const url = await refusing(refusal(Code.NotFound, "PAWL_RUN_NOT_FOUND", "a\u001b[2Jb"));
    expect((await runCli(["run", "show", "r", "--url", url])).errors).toContain("a\\u001b[2Jb");
  });
});

describe("no kernel", () => {
  it("is told with the command that starts one, and ends with 69", async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const end = await runCli(["info", "--url", url]);
    expect(end.code).toBe(69);
    expect(end.errors).toContain(`pawl: Expected a kernel at ${url}, but nothing listens there.\n`);
    expect(end.errors).toContain("\n  npx --no pawl serve\n");
  });

  it("but a web server is told apart", async () => {
    const web: Server = createHttp((_, response) => response.end("<html>hello</html>"));
    await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
    const { port } = web.address() as AddressInfo;
    const end = await runCli(["info", "--url", `http://127.0.0.1:${port}`]);
    await new Promise((resolve) => web.close(resolve));
    expect(end.code).toBe(69);
    expect(end.errors).toMatch(/Expected (a Pawl kernel|the kernel) at http/);
  });

  it("a server that does not know the call is told apart", async () => {
    kernel = await startScriptedKernel({ admin: {} });
    const end = await runCli(["run", "show", "r", "--url", kernel.url]);
    expect(end.code).toBe(69);
    expect(end.errors).toContain("to know this call, but it does not");
  });

  it.each(["127.0.0.1:7295", "ftp://127.0.0.1", "nonsense"])("%s is no address", async (url) => {
    const end = await runCli(["info", "--url", url]);
    expect(end.code).toBe(2);
    expect(end.errors).toContain(url);
  });
});

describe("where the kernel is", () => {
  const info = { admin: { getServerInfo: () => ({ version: "0.1.0" }) } };

  async function hint(content: object): Promise<void> {
    await mkdir(join(folder, ".pawl"));
    await writeFile(join(folder, ".pawl", "kernel.json"), JSON.stringify(content));
  }

  it("is read from ./.pawl/kernel.json", async () => {
    kernel = await startScriptedKernel(info);
    await hint({ pid: process.pid, port: Number(new URL(kernel.url).port) });
    const end = await runCli(["info"], { cwd: folder });
    expect(end.code).toBe(0);
    expect(end.out).toContain(`answers at ${kernel.url}.`);
  });

  it("is not believed of a process that is gone", async () => {
    // Above the largest process id that Linux and macOS give.
    await hint({ pid: 2 ** 30, port: 1 });
    const end = await runCli(["run", "list"], { cwd: folder });
    expect(end.errors).not.toContain("http://127.0.0.1:1,");
  });

  it("is said by --url before PAWL_URL", async () => {
    kernel = await startScriptedKernel(info);
    const end = await runCli(["info", "--url", kernel.url], {
      env: { PAWL_URL: "http://127.0.0.1:1" },
    });
    expect(end.code).toBe(0);
  });
});

describe("a wrong command line", () => {
  it.each([
    [["rum", "list"], "rum", "help"],
    [["run"], "command", "run --help"],
    [["run", "lst"], "lst", "run --help"],
    [["run", "show"], "run", "run show --help"],
    [["run", "show", "a", "b"], "argument", "run show --help"],
    [["run", "list", "--limt", "3"], "--limt", "run list --help"],
    [["run", "list", "--limit", "0"], "1 to 100000", "run list --help"],
    [["run", "list", "--limit", "1e3"], "1 to 100000", "run list --help"],
    [["report"], "neither was given", "report --help"],
    [["report", "r", "--start", "2"], "both were given", "report --help"],
    [["report", "--start", "2", "--incarnation", "1"], "--incarnation", "report --help"],
    [["serve", "--port", "65536"], "0 to 65535", "serve --help"],
    [[], "command", "help"],
  ])("%j ends with 2, says what was expected, and where help is", async (args, named, help) => {
    const end = await runCli(args);
    expect(end.code).toBe(2);
    expect(end.out).toBe("");
    expect(end.errors).toContain(named);
    expect(end.errors).toContain("Reason: PAWL_CLI_USAGE (exit code 2)");
    expect(end.errors).toContain(`\nNext:\n  npx --no pawl ${help}\n`);
  });

  it("is one object on stderr with --json", async () => {
    const end = await runCli(["run", "show", "--json"]);
    expect(parseLines(end.errors)).toMatchObject([
      { error: { exitCode: 2, reason: "PAWL_CLI_USAGE" } },
    ]);
  });

  it("is not what asking for help is", async () => {
    const end = await runCli(["run", "start", "--help"]);
    expect([end.code, end.errors]).toEqual([0, ""]);
    expect(end.out).toContain("--plan <file>");
    expect((await runCli(["--help"])).out).toContain("69 no kernel answered");
    expect((await runCli(["help", "why"])).code).toBe(0);
    expect(await runCli(["--version"])).toEqual({ code: 0, out: "0.1.0\n", errors: "" });
  });
});

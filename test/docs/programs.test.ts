import { type ChildProcess, spawn } from "node:child_process";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { openTestServer, type TestServer } from "../rpc/support/test-server.js";
import { pageAt } from "./support/pages.js";
import { makeProject, type Project, readSnippets } from "./support/snippets.js";

const HOOKS = new URL("../log/support/child-hooks.mjs", import.meta.url).href;

const clean: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const each of clean.splice(0).reverse()) await each();
});

/** Puts the named programs of a page into a project; `replaced` are addresses that are others here. */
function projectOf(page: string, replaced: Readonly<Record<string, string>> = {}): Project {
  const project = makeProject();
  clean.push(project.remove);
  for (const { path, text } of readSnippets({ path: page, text: pageAt(page) })) {
    const program = Object.entries(replaced).reduce(
      (code, [from, to]) => code.replaceAll(from, to),
      text,
    );
    project.write(path.slice(path.lastIndexOf("/") + 1), program);
  }
  return project;
}

interface Program {
  readonly child: ChildProcess;
  /** What it wrote, when it has ended by itself. */
  readonly output: Promise<string>;
}

/** Runs a program as it stands on the page. */
function run(project: Project, name: string): Program {
  const args = ["--conditions=pawl-source", "--import", HOOKS, join(project.path, name)];
  const child = spawn(process.execPath, args, { cwd: project.path, stdio: "pipe" });
  let out = "";
  let errors = "";
  child.stdout.on("data", (data) => (out += String(data)));
  child.stderr.on("data", (data) => (errors += String(data)));
  const output = new Promise<string>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) =>
      code === 0 ? resolve(out) : reject(new Error(`${name} ended with ${code}: ${errors}`)),
    );
  });
  // A worker is ended by the test, which is no answer to wait for.
  output.catch(() => undefined);
  clean.push(() => {
    child.kill("SIGKILL");
  });
  return { child, output };
}

async function serve(): Promise<{ readonly server: TestServer; readonly url: string }> {
  const server = await openTestServer();
  clean.push(() => server.close());
  return { server, url: `http://127.0.0.1:${server.server.port}` };
}

describe("the programs of the guide", () => {
  it("first steps: the run ends with its output, and is found again", async () => {
    const { server, url } = await serve();
    const project = projectOf("docs/guide/first-steps.md", { "http://127.0.0.1:7295": url });
    run(project, "worker.ts");
    const first = await run(project, "start.ts").output;
    expect(first).toMatch(/^started: (?:HELLO|WELCOME), ADA\n$/);
    const again = await run(project, "start.ts").output;
    expect(again).toBe(first.replace("started:", "was started before:"));
    expect(server.faults).toEqual([]);
  });

  it("operations: the sink is called once for a key, with the key, whoever performs it", async () => {
    const { url } = await serve();
    const keys: unknown[] = [];
    const bank = await listen(
      createServer((request, response) => {
        keys.push(request.headers["idempotency-key"]);
        response.end(JSON.stringify({ id: `receipt-${keys.length}` }));
      }),
    );
    const project = projectOf("docs/guide/operations.md", {
      "http://127.0.0.1:7295": url,
      "https://bank.example": bank,
    });
    expect(await run(project, "pay-invoice.ts").output).toBe("receipt-1\n");
    expect(await run(project, "pay-invoice.ts").output).toBe("receipt-1\n");
    expect(keys).toEqual(["namespace/default/payments.refund/invoice-4711"]);
  });

  it("embedded: the second time the result is the recorded one", async () => {
    const project = projectOf("docs/guide/embedded.md");
    const key = "task/default/note-1/1/main/notes.write/1\n";
    expect(await run(project, "notes.ts").output).toBe(key);
    expect(await run(project, "notes.ts").output).toBe(key);
  });
});

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  clean.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCli } from "./support/run-cli.js";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl-refusals-"));
  await mkdir(join(folder, "papers"));
  await writeFile(join(folder, "papers", "letter"), "");
  await writeFile(join(folder, "broken.json"), "{", { mode: 0o600 });
});

afterAll(() => rm(folder, { recursive: true }));

const token = ["token", "create", "--name", "a"];
const dead = ["--url", "http://127.0.0.1:1"];

/** Command lines that are refused, each in its own way, without a kernel. */
const lines: readonly (readonly string[])[] = [
  [],
  ["nonsense"],
  ["run", "nonsense"],
  ["run", "show"],
  ["run", "list", "--limit", "many"],
  ["run", "list", "--url", "ftp://x"],
  ["run", "list", "--token-file", "absent", ...dead],
  ["run", "list", ...dead],
  ["run", "start", "w", "--plan", "absent.json", ...dead],
  ["run", "start", "w", "--plan", "broken.json", ...dead],
  ["approvals", "approve", "1-p0", "--fingerprint", "x", ...dead],
  ["verify", "--dir", "papers"],
  ["verify", "--dir", "absent"],
  ["restore", "--dir", "absent"],
  ["serve", "--dir", "papers"],
  ["serve", "--dir", "new", "--tls-cert", "absent.pem"],
  ["serve", "--dir", "new", "--port", "0", "--tokens", "absent.json"],
  ["serve", "--dir", "new", "--port", "0", "--tokens", "broken.json"],
  ["serve", "--dir", "new", "--port", "0", "--host", "0.0.0.0"],
  [...token, "--role", "worker", "--role", "approver"],
  [...token, "--role", "nothing"],
  [...token, "--role", "client", "--tokens", "broken.json"],
  ["token", "revoke", "000000000000"],
  ["token", "list", "--tokens", "broken.json"],
];

it.each(lines.map((args) => [args.join(" "), args] as const))(
  "pawl %s is refused with what was expected, what was found, and what to do next",
  async (_, args) => {
    const { code, errors } = await runCli(args, { cwd: folder });
    expect(code).not.toBe(0);
    expect(errors).toMatch(
      /^pawl: Expected .+, but .+\nReason: PAWL_[A-Z_]+ \(exit code \d+\)\nNext:\n {2}\S/ms,
    );
    const json = await runCli([...args, "--json"], { cwd: folder });
    const { error } = JSON.parse(json.errors.trim().split("\n").at(-1) ?? "");
    expect(error.next.length).toBeGreaterThan(0);
  },
);

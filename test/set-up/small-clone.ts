import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

/** What of the repository a clone keeps: everything that installs, builds and starts. */
const KEPT = [
  "package.json",
  "package-lock.json",
  ".npmrc",
  "tsconfig.base.json",
  "vitest.config.ts",
  "scripts",
  "server/bin",
  "server/src/core/tsconfig.json",
  ...["projects.ts", "python.ts", "count-reporter.ts", "source-hooks.mjs", "source-loader.mjs"].map(
    (name) => `test/support/${name}`,
  ),
  ...["proto", "server", "sdk", "examples", "bench", "test"].flatMap((name) => [
    `${name}/package.json`,
    `${name}/tsconfig.json`,
  ]),
];

/**
 * A main job that shows what it was given and holds what must not be left behind: a child and a
 * port. It counts signals as the real one must: a second one within 500 ms is the same wish.
 */
const MAIN_JOB = `
import { spawn } from "node:child_process";
import { createServer, type AddressInfo } from "node:net";
import { tiny } from "@pawl/sdk";

export async function main(argv: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const signals: string[] = [];
  const stopped = new Promise<void>((resolve) => {
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) {
      process.on(name, () => {
        signals.push(name);
        if (signals.length === 1) setTimeout(resolve, 500);
      });
    }
  });
  const ready = { event: "ready", pid: process.pid, child: child.pid, port, argv, tiny };
  process.stdout.write(JSON.stringify({ ...ready, nodeEnv: process.env["NODE_ENV"] }) + "\\n");
  await stopped;
  child.kill();
  server.close();
  await ended;
  process.stdout.write(JSON.stringify({ event: "stopped", signals }) + "\\n");
  return 0;
}
`;

const PRINT_ARGUMENTS = `
export async function main(argv: readonly string[]): Promise<number> {
  process.stdout.write(JSON.stringify({ argv }) + "\\n");
  return argv.length;
}
`;

/** The sources of the clone: as small as can be, but one in each package that is built. */
const SOURCES: Readonly<Record<string, string>> = {
  "proto/gen/pawl/v1/tiny_pb.ts": "export const tiny: number = 1;\n",
  "server/src/core/tiny.ts":
    'import { tiny } from "@pawl/proto/v1/tiny_pb.js";\nexport const core: number = tiny;\n',
  "server/src/cli/main.ts": PRINT_ARGUMENTS,
  "sdk/src/index.ts": 'export { tiny } from "@pawl/proto/v1/tiny_pb.js";\n',
  "examples/main-job/supervisor.ts": MAIN_JOB,
  "examples/demo/main.ts": PRINT_ARGUMENTS,
  "bench/main.ts": PRINT_ARGUMENTS,
  "test/tiny.test.ts":
    'import { tiny } from "@pawl/sdk";\nimport { expect, it } from "vitest";\n' +
    'it("is one", () => {\n  expect(tiny).toBe(1);\n});\n',
};

/** A copy of the repository with small sources, in a folder whose path has a space and an accent. */
export interface SmallClone {
  readonly root: string;
  /** Puts a file in, making its folder. */
  readonly write: (path: string, content: string) => void;
  readonly remove: () => void;
}

/** Makes a clone without `node_modules`, without anything built, and without `.git`. */
export function makeSmallClone(): SmallClone {
  const outside = mkdtempSync(join(tmpdir(), "pawl-set-up-"));
  const root = join(outside, "a clone, né hier");
  for (const path of KEPT) cpSync(join(REPOSITORY, path), join(root, path), { recursive: true });
  const write = (path: string, content: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  };
  for (const [path, content] of Object.entries(SOURCES)) write(path, content);
  return { root, write, remove: () => rmSync(outside, { recursive: true, force: true }) };
}

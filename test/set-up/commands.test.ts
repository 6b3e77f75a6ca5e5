import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  findNpm,
  isAlive,
  isListening,
  listClaims,
  makeBarePath,
  type Running,
  run,
  waitUntil,
} from "./running.js";
import { makeSmallClone, type SmallClone } from "./small-clone.js";

/** The npm that runs the tests and, when its npm-cli.js is named, one of another major version. */
const OTHER_NPM = process.env["PAWL_OTHER_NPM"];
const NPMS = [findNpm(), ...(OTHER_NPM === undefined ? [] : [OTHER_NPM])];

let clone: SmallClone;
let path: string;

beforeAll(() => {
  clone = makeSmallClone();
  path = makeBarePath(join(dirname(clone.root), "bin"));
});

afterAll(() => {
  clone.remove();
});

/** Starts npm under all that is odd at once; whatever works here works in plain surroundings too. */
function npm(args: readonly string[], cli: string = findNpm()): Running {
  const cache = process.env["npm_config_cache"] ?? join(homedir(), ".npm");
  const start = ["-c", 'umask 077; exec "$0" "$@"', process.execPath, cli, ...args];
  return run("/bin/sh", start, {
    cwd: clone.root,
    env: {
      PATH: path,
      // Below a file nobody can make a folder, not even root.
      HOME: join(clone.root, "package.json", "home"),
      NODE_ENV: "production",
      npm_config_cache: cache,
      npm_config_ignore_scripts: "true",
      npm_config_prefer_offline: "true",
    },
  });
}

async function startMainJob(cli?: string): Promise<{
  readonly command: Running;
  readonly pids: readonly number[];
  readonly port: number;
  readonly ready: Record<string, unknown>;
}> {
  const command = npm(["start", "--", "--flag", "two words"], cli);
  const ready = await command.event("ready");
  const pids = [command.pid, Number(ready["pid"]), Number(ready["child"])];
  return { command, pids, port: Number(ready["port"]), ready };
}

async function expectNothingLeft(pids: readonly number[], port: number): Promise<void> {
  for (const pid of pids) await waitUntil(() => !isAlive(pid), `the end of process ${pid}`);
  await waitUntil(async () => !(await isListening(port)), `port ${port} to be free`);
  expect(listClaims(clone.root)).toEqual([]);
}

describe("a tree that was just unpacked: no .git, a path with a space, HOME and umask unfriendly", () => {
  it("npm start and npm test, both at once, install and build once and both get there", async () => {
    const tests = npm(["test"]);
    await tests.said("installing packages");
    const { command, pids, port, ready } = await startMainJob();
    const { code } = await tests.exit;

    expect(code, tests.output() + tests.errors()).toBe(0);
    expect(tests.output()).toMatch(/Tests.*1 passed/);
    expect(command.errors()).toContain("waiting: npm test (process ");
    expect(command.errors()).not.toContain("installing packages");
    expect(ready).toMatchObject({
      argv: ["--flag", "two words"],
      nodeEnv: "production",
      tiny: 1,
    });
    command.kill("SIGTERM");
    await command.exit;
    await expectNothingLeft(pids, port);
  });

  it("has the pawl command linked, with its run bit", async () => {
    expect(statSync(join(clone.root, "node_modules/.bin/pawl")).mode & 0o100).toBe(0o100);
    const pawl = run(process.execPath, [join(clone.root, "node_modules/.bin/pawl"), "why", "r-1"], {
      cwd: clone.root,
    });
    await pawl.exit;
    expect(pawl.output()).toBe('{"argv":["why","r-1"]}\n');
  });

  it("says nothing when all is fresh, and leaves stdout to the command", async () => {
    const demo = npm(["run", "--silent", "demo", "--", "--json"]);
    await demo.exit;
    expect(demo.output()).toBe('{"argv":["--json"]}\n');
    expect(demo.errors()).toBe("");
  });

  it("hands arguments and the exit code through", async () => {
    const bench = npm(["run", "--silent", "bench", "--", "queue", "--json", "--check"]);
    const { code } = await bench.exit;
    expect(bench.output()).toBe('{"argv":["queue","--json","--check"]}\n');
    expect(code).toBe(3);
  });
});

describe.each(NPMS)("stopping npm start under %s", (cli) => {
  it("Ctrl-C: the whole foreground gets it, npm hands it on, and nothing is left", async () => {
    const { command, pids, port } = await startMainJob(cli);
    command.killGroup("SIGINT");
    await command.exit;
    expect(command.output()).toContain('"event":"stopped"');
    await expectNothingLeft(pids, port);
  });

  it("SIGTERM to npm alone: npm hands it on, and nothing is left", async () => {
    const { command, pids, port } = await startMainJob(cli);
    command.kill("SIGTERM");
    const { code } = await command.exit;
    expect(command.output()).toContain('"event":"stopped"');
    expect(code).toBe(0);
    await expectNothingLeft(pids, port);
  });

  it("a closed terminal: SIGHUP to all, nobody reads, and nothing is left", async () => {
    const { command, pids, port } = await startMainJob(cli);
    command.stopReading();
    command.killGroup("SIGHUP");
    await command.exit;
    await expectNothingLeft(pids, port);
  });
});

if (OTHER_NPM === undefined) {
  it("stops as well under an npm of another major version", (context) => {
    if (process.env["CI"] === "true") throw new Error("CI must name another npm: PAWL_OTHER_NPM");
    context.skip("name the npm-cli.js of another major version in PAWL_OTHER_NPM");
  });
}

describe("npm test", () => {
  it("hands arguments to vitest, and a failed test on as its exit code", async () => {
    clone.write(
      "test/red.test.ts",
      'import { expect, it } from "vitest";\n' +
        'it("red", () => {\n  expect(1).toBe(2);\n});\n' +
        'it("green", () => {\n  expect(1).toBe(1);\n});\n',
    );
    try {
      const all = npm(["test", "--", "-t", "red"]);
      const { code } = await all.exit;
      expect(code).toBe(1);
      expect(all.output()).toMatch(/Tests.*1 failed.*2 skipped/);
      expect(all.output()).toContain("skipped: [core] test/red.test.ts > green");
    } finally {
      rmSync(join(clone.root, "test/red.test.ts"));
    }
  });

  it("stopped in the middle of a test ends the test's own children too", async () => {
    const notes = join(clone.root, "pids");
    clone.write(
      "test/long.test.ts",
      'import { spawn } from "node:child_process";\n' +
        'import { writeFileSync } from "node:fs";\nimport { it } from "vitest";\n' +
        'it("is long", async () => {\n' +
        '  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);\n' +
        `  writeFileSync(${JSON.stringify(notes)}, \`\${process.pid} \${child.pid}\`);\n` +
        '  await new Promise((resolve) => child.once("exit", resolve));\n});\n',
    );
    try {
      const command = npm(["test", "--", "test/long.test.ts"]);
      await waitUntil(() => existsSync(notes), "the test to be under way", command.output);
      command.killGroup("SIGINT");
      await command.exit;
      for (const pid of readFileSync(notes, "utf8").split(" ").map(Number)) {
        await waitUntil(() => !isAlive(pid), `the end of process ${pid}`);
      }
    } finally {
      rmSync(join(clone.root, "test/long.test.ts"));
    }
  });
});

describe("building", () => {
  const demo = async (): Promise<{ code: number | null; output: string; errors: string }> => {
    const command = npm(["run", "--silent", "demo"]);
    const { code } = await command.exit;
    return { code, output: command.output(), errors: command.errors() };
  };
  const source = "examples/demo/main.ts";
  const printing = (text: string): string =>
    "export async function main(): Promise<number> {\n" +
    `  process.stdout.write("${text}\\n");\n  return 0;\n}\n`;

  it("follows a changed source", async () => {
    clone.write(source, printing("changed"));
    const { output, errors } = await demo();
    expect(errors).toBe("set-up: building examples …\n");
    expect(output).toBe("changed\n");
  });

  it("leaves the old build standing when the sources do not compile", async () => {
    clone.write(source, "export const main: number = 'no number';\n");
    const { code, output, errors } = await demo();
    expect(code).toBe(1);
    expect(output).toBe("");
    expect(errors).toContain("examples/demo/main.ts");
    expect(errors).toContain("npm run demo: expected the sources to compile");
    expect(readFileSync(join(clone.root, "examples/dist/demo/main.js"), "utf8")).toContain(
      "changed",
    );
    expect(listClaims(clone.root)).toEqual([]);
  });

  it("makes good a build that somebody deleted from or wrote into", async () => {
    clone.write(source, printing("again"));
    rmSync(join(clone.root, "server/dist/cli/main.js"));
    clone.write("sdk/dist/index.js", "throw new Error('foreign');\n");
    const { output, errors } = await demo();
    expect(errors).toBe("set-up: building server, sdk, examples …\n");
    expect(output).toBe("again\n");
    expect(existsSync(join(clone.root, "server/dist/cli/main.js"))).toBe(true);
  });

  it("drops what a deleted source had built", async () => {
    clone.write("examples/demo/other.ts", "export const other: number = 1;\n");
    await demo();
    expect(existsSync(join(clone.root, "examples/dist/demo/other.js"))).toBe(true);
    rmSync(join(clone.root, "examples/demo/other.ts"));
    await demo();
    expect(existsSync(join(clone.root, "examples/dist/demo/other.js"))).toBe(false);
  });
});

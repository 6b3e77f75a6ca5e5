import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processContext } from "@pawl/server/cli/context.js";
import { Output } from "@pawl/server/cli/output.js";
import { VerifyPrinter } from "@pawl/server/cli/verify/verify-printer.js";
import type { VerifyCounts } from "@pawl/server/log/verify-log.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startPawl } from "./support/pawl-process.js";
import { parseLines, runCli } from "./support/run-cli.js";

let folder: string;

/** What a verification said while the kernel ran. */
let whileServed: {
  readonly code: number;
  readonly errors: string;
  readonly pid: number | undefined;
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl verify-"));
  const plan = { tasks: [{ name: "main", kind: "nobody" }] };
  await writeFile(join(folder, "plan.json"), JSON.stringify(plan));
  const kernel = startPawl(folder, ["serve", "--port", "0", "--json"]);
  await kernel.line(1);
  const started = await run("run", "start", "hello", "--plan", "plan.json", "--id", "r1");
  expect(started.code).toBe(0);
  whileServed = { ...(await run("verify")), pid: kernel.child.pid };
  // Killed, so that the run is in the log alone.
  kernel.child.kill("SIGKILL");
  await kernel.end;
});

afterAll(() => rm(folder, { recursive: true }));

function run(...args: string[]): ReturnType<typeof runCli> {
  return runCli(args, { cwd: folder });
}

/** A copy of the folder in which one letter of the run's plan is another. */
async function damagedCopy(): Promise<string> {
  await cp(join(folder, ".pawl"), join(folder, "damaged"), { recursive: true });
  const database = join(folder, "damaged", "db");
  for (const name of await readdir(database)) {
    const path = join(database, name);
    const bytes = await readFile(path);
    const place = bytes.indexOf("nobody");
    if (place < 0) continue;
    bytes[place] = "N".charCodeAt(0);
    await writeFile(path, bytes);
    return "damaged";
  }
  throw new Error("Expected the run's plan in some file of the database, but it is in none");
}

describe("pawl verify", () => {
  it("is refused while a kernel serves the folder, and names it", () => {
    expect(whileServed.code).toBe(1);
    expect(whileServed.errors).toContain(`process ${whileServed.pid} (port `);
    expect(whileServed.errors).toContain("Reason: PAWL_STORE_LOCKED (exit code 1)");
  });

  it("finds sound what a killed kernel left", async () => {
    const people = await run("verify");
    expect(people.errors).toBe("");
    expect(people.out).toMatch(
      /^The store in \.pawl is sound\. Checked [1-9]\d* segments?, [1-9]\d* events?, /,
    );
    expect(people.code).toBe(0);
    const [verdict] = parseLines((await run("verify", "--json")).out);
    expect(verdict).toMatchObject({ sound: true, complete: true, problems: 0 });
  });

  it("finds one changed letter, and says what to do", async () => {
    const dir = await damagedCopy();
    const people = await run("verify", "--dir", dir);
    expect(people.code).toBe(1);
    expect(people.out).toMatch(/^Problem in /);
    expect(people.out).toContain("restore from a backup");
    const json = await run("verify", "--dir", dir, "--json");
    expect(json.code).toBe(1);
    const lines = parseLines(json.out);
    expect(lines[0]).toMatchObject({ problem: { message: expect.stringContaining("Expected") } });
    expect(lines.at(-1)).toMatchObject({ sound: false });
  });

  it("says that there is no store, and makes none", async () => {
    const end = await run("verify", "--dir", "nowhere", "--json");
    expect(end.code).toBe(1);
    expect(parseLines(end.errors)).toMatchObject([{ error: { reason: "PAWL_STORE_ABSENT" } }]);
    expect(await readdir(folder)).not.toContain("nowhere");
  });
});

describe("the verdict of a verification", () => {
  const counts: VerifyCounts = { segments: 1, events: 2, chunks: 3, rows: 4, bytes: 5 };
  const head = { sequence: 7, hash: Uint8Array.of(0xab) };
  const problem = {
    kind: "problem",
    stage: "rows",
    message: "a row is wrong",
    firstBadSequence: 3,
    key: "0a",
    damage: undefined,
  } as const;

  function print(isJson: boolean): { printer: VerifyPrinter; lines: () => string } {
    let out = "";
    const context = {
      ...processContext(),
      useColour: false,
      writeOut: (text: string) => {
        out += text;
      },
    };
    return { printer: new VerifyPrinter(new Output(context, isJson), "d"), lines: () => out };
  }

  it("is unsound with a problem, and counts them", () => {
    const { printer, lines } = print(false);
    printer.print(problem);
    printer.print({ kind: "done", counts, problems: 1, isComplete: true, head });
    expect(printer.isSound).toBe(false);
    expect(lines()).toBe(
      "Problem in the rows: a row is wrong\n\n" +
        "The store in d has 1 problem. Checked 1 segment, 2 events, 3 chunks, 4 rows and 5 bytes, up to sequence 7.\n" +
        "Nothing was changed. Keep a copy of the folder as it is, and restore from a backup; no kernel serves what is damaged.\n",
    );
  });

  it("is unsound when not all could be read", () => {
    const { printer, lines } = print(true);
    printer.print({ kind: "done", counts, problems: 0, isComplete: false, head });
    expect(printer.isSound).toBe(false);
    expect(parseLines(lines())).toEqual([
      {
        sound: false,
        complete: false,
        problems: 0,
        counts: { segments: "1", events: "2", chunks: "3", rows: "4", bytes: "5" },
        head: { sequence: "7", hash: "ab" },
      },
    ]);
  });

  it("is not sound before the end", () => {
    const { printer } = print(true);
    expect(printer.isSound).toBe(false);
  });
});

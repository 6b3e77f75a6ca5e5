import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Examination } from "@pawl/server/cli/doctor/examination.js";
import { findLockHolder } from "@pawl/server/cli/doctor/find-lock-holder.js";
import { judge } from "@pawl/server/cli/doctor/judge.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PawlProcess, startPawl } from "./support/pawl-process.js";
import { type CliEnd, parseLines, runCli } from "./support/run-cli.js";

let folder: string;
/** What was said while the kernel ran, with a token, and without one. */
let served: CliEnd;
let servedJson: CliEnd;
let pid: number | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl doctor-"));
  const kernel: PawlProcess = startPawl(folder, ["serve", "--port", "0", "--json"]);
  await kernel.line(1);
  pid = kernel.child.pid;
  served = await run("doctor");
  servedJson = await run("doctor", "--json");
  kernel.child.kill("SIGKILL");
  await kernel.end;
});

afterAll(() => rm(folder, { recursive: true }));

function run(...args: string[]): Promise<CliEnd> {
  return runCli(args, { cwd: folder });
}

/** Every file below a folder with the hash of its content. */
async function contentOf(directory: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) {
      const path = join(entry.parentPath, entry.name);
      const hash = createHash("sha256")
        .update(await readFile(path))
        .digest("hex");
      found.set(path, hash);
    }
  }
  return found;
}

describe("pawl doctor, while a kernel serves", () => {
  it("asks it, and finds the folder well", () => {
    expect(served.errors).toBe("");
    expect(served.out).toContain("The data folder .pawl is well.");
    expect(served.out).toContain(`Process ${pid} serves it at http://127.0.0.1:`);
    expect(served.out).toContain("It lives in epoch 1: nothing was ever restored.");
    expect(served.out).toContain("It takes work.");
    expect(served.out).toContain("No run is set aside for damage.");
    expect(served.code).toBe(0);
  });

  it("says the same as JSON", () => {
    const [told] = parseLines(servedJson.out);
    expect(told).toMatchObject({ dir: ".pawl", health: "well", holder: { pid } });
    expect(told).toMatchObject({
      checks: expect.arrayContaining([
        { topic: "work", health: "well", says: "It takes work.", next: [] },
      ]),
    });
  });
});

describe("pawl doctor, while no kernel serves", () => {
  it("reads what a killed kernel left, and changes not a byte", async () => {
    const before = await contentOf(join(folder, ".pawl"));
    const told = await run("doctor");
    expect(told.out).toContain("No process has it open.");
    expect(told.out).toContain("It lives in epoch 1: nothing was ever restored. It was made ");
    expect(told.out).toMatch(/\.pawl holds store [0-9a-f-]{36}\./);
    expect(told.out).toMatch(/ MiB of [\d,]+ MiB are free on its disk\./);
    expect(told.code).toBe(0);
    expect(await contentOf(join(folder, ".pawl"))).toEqual(before);
  });

  it("tells what pawl verify found last, and the epoch that pawl restore began", async () => {
    await cp(join(folder, ".pawl"), join(folder, "restored"), { recursive: true });
    expect((await run("verify", "--dir", "restored")).code).toBe(0);
    expect((await run("restore", "--dir", "restored", "--reason", "test")).code).toBe(0);
    const told = await run("doctor", "--dir", "restored");
    expect(told.out).toContain(
      "It was read last by pawl verify, 2026-03-01T13:00:00+01:00 (now): all of it is as it was written.",
    );
    expect(told.out).toContain("It lives in epoch 2: it was restored 1 time.");
    expect(told.code).toBe(0);
  });

  it("names a damaged file, and what to do", async () => {
    await cp(join(folder, ".pawl"), join(folder, "damaged"), { recursive: true });
    await rm(join(folder, "damaged", "db", "CURRENT"));
    const before = await contentOf(join(folder, "damaged"));
    const told = await run("doctor", "--dir", "damaged");
    expect(told.out).toContain("The data folder damaged is not well.");
    expect(told.out).toContain("CURRENT");
    expect(told.out).toContain("npx --no pawl verify --dir damaged");
    expect(told.out).toContain("Put a backup in its place");
    expect(told.code).toBe(1);
    expect(await contentOf(join(folder, "damaged"))).toEqual(before);
  });

  it("says of a folder that is none what would make one", async () => {
    const absent = await run("doctor", "--dir", "nowhere");
    expect(absent.out).toContain("The data folder nowhere wants attention.");
    expect(absent.out).toContain("There is no such folder.");
    expect(absent.out).toContain("npx --no pawl serve --dir nowhere");
    expect(absent.code).toBe(1);
    await mkdir(join(folder, "foreign"));
    await writeFile(join(folder, "foreign", "mail"), "");
    const foreign = await run("doctor", "--dir", "foreign");
    expect(foreign.out).toContain('it holds "mail" and no STORE');
    expect(foreign.code).toBe(1);
  });

  it("says that a newer pawl is needed", async () => {
    await cp(join(folder, ".pawl"), join(folder, "newer"), { recursive: true });
    const file = join(folder, "newer", "STORE");
    const store: Record<string, unknown> = JSON.parse(await readFile(file, "utf8"));
    await writeFile(file, JSON.stringify({ ...store, format: 9 }));
    const told = await run("doctor", "--dir", "newer");
    expect(told.out).toContain("Use the version of pawl that wrote it, or a newer one.");
    expect(told.code).toBe(1);
  });
});

/** A folder that is well, and served. */
const well: Examination = {
  dir: ".pawl",
  tokenFile: "op.token",
  obstacle: undefined,
  format: 0,
  holder: { pid: 7, url: "http://127.0.0.1:7295" },
  asked: {
    isAnswered: true,
    version: "1.0.0",
    storeId: "5f0c5a4e-3d1b-4c55-9d0a-6c1f0e8d2b71",
    epoch: 1,
    readyAtMs: 0,
    isDiskLow: false,
    readOnlyReason: "",
    setAsideRuns: [],
    scrubRounds: 1,
    lastRoundAtMs: 0,
    findings: [],
    findingCount: 0,
  },
  stored: undefined,
  lastCheck: undefined,
  hasFailedWrite: false,
  disk: { freeBytes: 2 ** 34, totalBytes: 2 ** 36 },
  ballastBytes: 64 * 1024 * 1024,
};

function asked(more: object): Pick<Examination, "asked"> {
  return { asked: { ...well.asked, ...more } as Examination["asked"] };
}

const mib = (count: number) => ({ freeBytes: count * 1024 * 1024, totalBytes: 2 ** 36 });

const cases: readonly (readonly [string, Partial<Examination>, string, string, RegExp, RegExp])[] =
  [
    [
      "a kernel that is read-only",
      asked({ readOnlyReason: "a position is gone" }),
      ...(["work", "bad", /it is read-only: a position is gone\./, /pawl restore --dir/] as const),
    ],
    [
      "runs that are damaged",
      asked({ setAsideRuns: [3, 9] }),
      ...([
        "runs",
        "bad",
        /2 runs \(by number in the store: 3, 9\) are damaged/,
        /verify/,
      ] as const),
    ],
    [
      "findings that this token is not told",
      asked({ findings: [], findingCount: 2 }),
      ...(["last check", "bad", /2 places not as written.*operator or admin/, /copy/] as const),
    ],
    [
      "a verdict that was not good",
      { ...asked({ scrubRounds: 0 }), lastCheck: { by: "verify", atMs: 0, problems: 2 } },
      ...([
        "last check",
        "bad",
        /read last by pawl verify, then: 2 places are not as written/,
        /verify/,
      ] as const),
    ],
    [
      "a low disk",
      { disk: mib(200) },
      ...(["disk", "attention", /200 MiB of .* new runs are refused/, /from 320 MiB on/] as const),
    ],
    [
      "a full disk",
      { disk: mib(20) },
      ...(["disk", "bad", /nearly full: 20 MiB/, /Free some space/] as const),
    ],
    [
      "a ballast that was given back",
      { disk: mib(20), ballastBytes: 0 },
      ...(["ballast", "attention", /given back to the disk/, /^$/] as const),
    ],
    [
      "a kernel that does not answer",
      { asked: { isAnswered: false, why: "connection refused" } },
      ...([
        "served",
        "bad",
        /told nothing: connection refused/,
        /pawl info --url \S+ --token-file op.token/,
      ] as const),
    ],
    [
      "an embedded kernel",
      { holder: { pid: 7, url: undefined }, asked: undefined },
      ...(["served", "attention", /Process 7 has it open without an address/, /embeds/] as const),
    ],
    [
      "a write that failed",
      { holder: undefined, asked: undefined, hasFailedWrite: true },
      ...(["last write", "attention", /ended in a failed write/, /serve it again/] as const),
    ],
  ];

describe("what a doctor says of", () => {
  it.each(cases)("%s", (_, parts, ...[topic, health, says, next]) => {
    const verdict = judge({ ...well, ...parts }, () => "then").find((each) => each.topic === topic);
    expect(verdict?.health).toBe(health);
    expect(verdict?.says).toMatch(says);
    expect(verdict?.next.join("\n")).toMatch(next);
  });

  it("what is well: nothing is to be done", () => {
    for (const { health, next } of judge(well, () => "then")) {
      expect({ health, next }).toEqual({ health: "well", next: [] });
    }
  });
});

it.runIf(process.platform === "linux")("finds who holds a lock by what Linux lists", async () => {
  const path = join(folder, "lock");
  await writeFile(path, "");
  const { ino } = await import("node:fs").then(({ statSync }) => statSync(path));
  const locks = [
    "1: FLOCK  ADVISORY  WRITE 11 00:1c:1 0 EOF",
    `2: POSIX  ADVISORY  WRITE 4242 00:1c:${ino} 0 EOF`,
  ].join("\n");
  expect(await findLockHolder(path, locks)).toBe(4242);
  expect(await findLockHolder(path, "")).toBeUndefined();
});

describe("pawl doctor and pawl info", () => {
  it("say where the log begins, how much of it is kept, and what the store takes up", () => {
    expect(served.out).toMatch(
      /log: +It is there from its first event on\. At most 256 MiB and 7d of it are kept behind the rows\./,
    );
    expect(served.out).toMatch(/size: +The store takes up [\d.]+ (bytes|KiB|MiB)\./);
  });
});

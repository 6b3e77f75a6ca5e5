import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { waitUntil } from "../set-up/running.js";

const sources = fileURLToPath(new URL("../../examples/workflows", import.meta.url));
const built = fileURLToPath(new URL("../../examples/dist/workflows", import.meta.url));
const names = ["agent", "research", "order", "nightly"] as const;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pawl-workflows-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** An example under way. */
interface Example {
  readonly output: () => string;
  readonly errors: () => string;
  /** Kills it with SIGKILL when it has said or written something. */
  readonly killWhen: (isReady: () => boolean) => Promise<void>;
  /** What it says last, when it has ended by itself. */
  readonly outcome: () => Promise<unknown>;
}

/** Starts an example; `lines` are what its person types. */
function start(name: (typeof names)[number], lines = "", ...args: string[]): Example {
  const child = spawn(process.execPath, [join(built, `${name}.js`), ...args], { cwd: folder });
  const exit = new Promise<number | null>((resolve) => {
    child.on("close", resolve);
  });
  let out = "";
  let errors = "";
  child.stdout.on("data", (data) => (out += String(data)));
  child.stderr.on("data", (data) => (errors += String(data)));
  child.stdin.on("error", () => undefined); // It may be dead already.
  child.stdin.write(lines);
  return {
    output: () => out,
    errors: () => errors,
    killWhen: async (isReady) => {
      await waitUntil(isReady, name, () => `${out}\n${errors}`);
      child.kill("SIGKILL");
      await exit;
    },
    outcome: async () => {
      const code = await exit;
      expect({ code, errors: code === 0 ? "" : errors }).toEqual({ code: 0, errors: "" });
      const outcome: unknown = JSON.parse(
        /\{[^\n]*\}\n$/.exec(out.replace(/^.*\) /, ""))?.[0] ?? "",
      );
      return outcome;
    },
  };
}

describe("the examples of workflow functions", () => {
  it.each(names)("%s is short, and without a cast or any", (name) => {
    const source = readFileSync(join(sources, `${name}.ts`), "utf8");
    expect(source.trimEnd().split("\n").length).toBeLessThanOrEqual(60);
    expect(source).not.toMatch(/[:<] ?any\b|\) as |@ts-|biome-ignore|! *;/);
  });

  it("the agent plans once, though it is killed after it planned and while a person is asked", async () => {
    const first = start("agent");
    await first.killWhen(() => first.output().includes("How many days"));
    expect(first.errors()).toBe("the model plans\n");
    const second = start("agent", "5\n");
    await second.killWhen(() => second.output().includes('{"to":"Lisbon","days":5}'));
    expect(second.errors()).toBe("");
    const third = start("agent", "yes\n");
    const outcome = await third.outcome();
    expect(third.errors()).toBe("");
    expect(outcome).toEqual({
      booked: true,
      why: ["weather of Lisbon: good", "trains of Lisbon: good", "hotels of Lisbon: good"],
      file: expect.stringMatching(/^\.pawl-bookings\//),
    });
    expect(await start("agent").outcome()).toEqual(outcome);
    expect(readdirSync(join(folder, ".pawl-bookings"))).toHaveLength(1);
  });

  it("the agent that may not books nothing", async () => {
    expect(await start("agent", "5\nno\n").outcome()).toEqual({
      booked: false,
      why: "not today",
    });
    expect(readdirSync(folder)).toEqual([".pawl-agent"]);
  });

  it("research needs three of five answers, and merges the same after a kill", async () => {
    const killed = start("research");
    await killed.killWhen(() => killed.errors().includes("searching old papers"));
    const outcome = await start("research").outcome();
    expect(outcome).toEqual({
      report: "news on ratchets; old papers on ratchets; web on ratchets",
      became: [
        "web: ok",
        "news: ok",
        expect.stringMatching(/^rumours: (?:failed|missing)$/),
        "old papers: ok",
        "a very slow archive of everything: missing",
      ],
    });
    expect(await start("research").outcome()).toEqual(outcome);
  });

  it("the nightly batch bills each account once, though it is killed in the middle", {
    timeout: 180_000,
  }, async () => {
    const books = join(folder, ".pawl-nightly-bills.txt");
    const read = (): string[] => {
      try {
        return readFileSync(books, "utf8").trimEnd().split("\n");
      } catch {
        return [];
      }
    };
    const killed = start("nightly");
    await killed.killWhen(() => read().length > 10);
    expect(await start("nightly").outcome()).toEqual({
      billed: 99,
      cents: 98_200,
      failed: ["account-13"],
    });
    const keys = read().map((line) => line.split(" ")[0]);
    expect(new Set(keys).size).toBe(99);
    expect(keys).toHaveLength(99);
  });
});

describe("the order saga", () => {
  it("undoes what it did when the courier refuses, each effect once, though it is killed on its way there and back", {
    timeout: 180_000,
  }, async () => {
    const books = join(folder, ".pawl-order-books.txt");
    const has = (effect: string) => (): boolean =>
      existsSync(books) && readFileSync(books, "utf8").includes(` ${effect} `);
    await start("order").killWhen(has("card.charge"));
    await start("order").killWhen(has("card.refund"));
    expect(await start("order").outcome()).toEqual({
      said: expect.stringContaining("Nobody drives there."),
      happened: ["stock.reserve", "card.charge", "card.refund", "stock.put-back"],
    });
  });

  it("undoes nothing of an order that goes out", async () => {
    expect(await start("order", "", "Berlin").outcome()).toEqual({
      said: "telescope is on its way to Berlin",
      happened: ["stock.reserve", "card.charge", "courier.book"],
    });
  });
});

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { OnNeedFailure, PlanSchema } from "@pawl/proto/v1/plan_pb.js";
import { drawPlan } from "@pawl/server/cli/format/plan-graph.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RealCli } from "./support/real-cli.js";

const cli = RealCli.forEachTest();

/** What a person has in hand: a payment, its look-up before and its mail behind. */
const first = {
  tasks: [
    { name: "look", kind: "look", input: { json: { account: "4711" } } },
    { name: "pay", kind: "bank", needs: ["look"], input: { json: { cents: 500 } } },
    { name: "mail", kind: "mail", needs: ["pay"] },
  ],
  output: "mail",
};

let folder = "";
const path = (name: string): string => join(folder, name);
const write = (name: string, value: unknown): Promise<void> =>
  writeFile(path(name), JSON.stringify(value));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl-plans-"));
  await write("first.json", first);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const start = (): Promise<string> =>
  cli.out("run", "start", "payment", "--plan", path("first.json"), "--id", "r");

describe("a person's edit loop", () => {
  it("shows the plan into a file, compares the edited one, tries it and makes it", async () => {
    await start();
    expect(await cli.out("plan", "show", "r")).toMatch(
      /^Plan version 1 of run r, the present one: 3 tasks\.$/m,
    );
    await writeFile(path("plan.json"), await cli.out("plan", "show", "r", "--edit"));
    const edited = JSON.parse(await readFile(path("plan.json"), "utf8"));
    expect(edited.tasks[1].input).toEqual({
      contentType: "application/json",
      json: { cents: 500 },
    });
    edited.tasks[1].input.json.cents = 700;
    edited.tasks.push({ name: "audit", kind: "audit", needs: ["pay"] });
    await write("plan.json", edited);

    const compared = await cli.out("plan", "diff", "r", "--file", path("plan.json"));
    expect(compared).toContain("1 task kept, 2 tasks superseded, 3 tasks added");
    const told = ["--expect", "1", "--reason", "the bill was wrong"];
    const tried = await cli.out("plan", "revise", "r", path("plan.json"), ...told, "--dry-run");
    expect(tried).toContain(
      "Nothing was changed. Version 2 of the plan of run r would be this one",
    );
    expect(tried).toMatch(/^pay +SUPERSEDED +BLOCKED +input, another record takes its place$/m);
    expect(await cli.json("plan", "list", "r")).toHaveLength(1);

    const made = await cli.out("plan", "revise", "r", path("plan.json"), ...told);
    expect(made).toContain("Version 2 of the plan of run r is recorded: 1 task kept");
    expect(made).toMatch(/^look +KEPT +READY$/m);
    expect(made).toMatch(/^audit +ADDED$/m);
    expect(await cli.out("plan", "revise", "r", path("plan.json"), ...told)).toContain(
      "is this plan already; nothing was changed",
    );
    expect(await cli.out("plan", "list", "r")).toMatch(/^2 \(present\) +4 .+the bill was wrong$/m);
    const differ = await cli.out("plan", "diff", "r");
    expect(differ).toContain("Plan version 2 of run r, compared with version 1:");
    expect(differ).toMatch(/^pay +CHANGED +input$/m);
    expect(differ).toMatch(/^mail +CHANGED +needs$/m);
    expect(differ).toMatch(/^audit +ADDED$/m);
    expect(await cli.out("plan", "show", "r", "--plan-version", "1")).toContain(
      "Plan version 1 of run r: 3 tasks.",
    );
  });

  it("is told what came first when somebody else has revised it", async () => {
    await start();
    const other = { ...first, tasks: first.tasks.slice(0, 2), output: "pay" };
    await write("other.json", other);
    const told = ["--expect", "1", "--reason", "less"];
    await cli.out("plan", "revise", "r", path("other.json"), ...told);
    await write("third.json", { ...other, output: "look" });
    const { code, said } = await cli.refusal("plan", "revise", "r", path("third.json"), ...told);
    expect(code).toBe(1);
    expect(said).toContain("PAWL_STALE_VERSION");
    expect(said).toContain("npx --no pawl plan list r");
  });
});

describe("pawl plan", () => {
  it("hashes a file as the kernel hashes what it was given, also from a module", async () => {
    await start();
    const [version] = await cli.json("plan", "list", "r");
    const hash = (await cli.out("plan", "hash", path("first.json"))).trim();
    const shown = Buffer.from(String(version?.["digest"]), "base64").toString("hex");
    expect(hash).toBe(shown);
    const { message } = await makeModule();
    expect((await cli.out("plan", "hash", path("plan.mjs"))).trim()).toMatch(/^[0-9a-f]{64}$/);
    expect(message).toContain("export const");
  });

  it("refuses a module without a plan, a file that is none, and two forms at once", async () => {
    await writeFile(path("none.mjs"), "export const x = 1;\n");
    expect(await cli.refusal("plan", "hash", path("none.mjs"))).toMatchObject({ code: 2 });
    await write("bad.json", { tasks: [{ nam: "a" }] });
    const bad = await cli.refusal("plan", "hash", path("bad.json"));
    expect(bad.code).toBe(2);
    expect(bad.said).toContain("protobuf's JSON form");
    expect(await cli.refusal("plan", "show", "r", "--edit", "--json")).toMatchObject({ code: 2 });
    expect(
      await cli.refusal("plan", "diff", "r", "1", "2", "--file", path("first.json")),
    ).toMatchObject({ code: 2 });
  });

  it("tells of a run that is not there, and of a version that is not", async () => {
    const gone = await cli.refusal("plan", "show", "nobody");
    expect([gone.code, gone.said.includes("PAWL_RUN_NOT_FOUND")]).toEqual([1, true]);
    await start();
    const none = await cli.refusal("plan", "show", "r", "--plan-version", "7");
    expect([none.code, none.said.includes("PAWL_PLAN_NOT_FOUND")]).toEqual([1, true]);
  });

  it("draws the plan of a run", async () => {
    await start();
    expect(await cli.out("plan", "show", "r", "--draw", "dot")).toContain('  "look" -> "pay";');
  });
});

/** A module that exports a plan as the SDK makes it. */
async function makeModule(): Promise<{ readonly message: string }> {
  const message = [
    'export const payment = { type: "plan", name: "payment", message: {',
    '  $typeName: "pawl.v1.Plan", output: "",',
    '  tasks: [{ $typeName: "pawl.v1.PlanTask", name: "a", kind: "a", queue: "", needs: [], priority: 0 }],',
    "} };",
    "",
  ].join("\n");
  await writeFile(path("plan.mjs"), message);
  return { message };
}

describe("the graph of a plan", () => {
  const plan = create(PlanSchema, {
    tasks: [
      { name: 'a "1"', kind: "find" },
      { name: "b", kind: "b" },
      {
        name: "merge",
        kind: "merge",
        needs: ['a "1"', "b"],
        join: {
          atLeast: 1,
          rules: [
            { task: "b", onFailure: OnNeedFailure.CONTINUE },
            { task: 'a "1"', onFailure: OnNeedFailure.FAIL },
          ],
        },
      },
    ],
    output: "merge",
  });

  it("is Mermaid", () => {
    expect(drawPlan(plan, "mermaid")).toEqual([
      "flowchart TD",
      '  t0["a #34;1#34;<br/>find"]',
      '  t1["b"]',
      '  t2(["merge<br/>any of 2, output"])',
      "  t0 -->|fail| t2",
      "  t1 -.->|continue| t2",
    ]);
  });

  it("is DOT", () => {
    expect(drawPlan(plan, "dot")).toEqual([
      "digraph plan {",
      "  node [shape=box];",
      '  "a \\"1\\"" [label="a \\"1\\"\\nfind"];',
      '  "b" [label="b"];',
      '  "merge" [label="merge\\nany of 2, output", peripheries=2];',
      '  "a \\"1\\"" -> "merge" [label="fail"];',
      '  "b" -> "merge" [label="continue", style=dashed];',
      "}",
    ]);
  });
});

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { workflow } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RealCli } from "./support/real-cli.js";

const cli = RealCli.forEachTest();

const shipAt = (version: number) => workflow("ship", { version }).run(async () => version);

let folder = "";
let plan = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl-versions-"));
  plan = join(folder, "plan.json");
  await writeFile(plan, '{"tasks":[{"name":"main","kind":"ship@current"}],"output":"main"}');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("pawl version", () => {
  it("sets, shows, lists and removes, and says who serves it", async () => {
    expect(await cli.out("version", "show", "ship")).toContain(
      'No version of workflow "ship" is current, and none was ever set (version 0 of this entry).',
    );
    expect(await cli.out("version", "set", "ship", "2", "--expected-version", "0")).toContain(
      'Version 2 of workflow "ship" is current now; no worker that serves it is connected yet.',
    );
    await using _worker = await cli.client.worker({ serve: [shipAt(2)] });
    expect(await cli.out("version", "set", "ship", "2")).toContain(
      "was current already; 1 worker serves it.",
    );
    expect(await cli.out("version", "show", "ship")).toMatch(
      /^Version 2 of workflow "ship" is current, since .+, by local.* \(version 1 of this entry\); 1 worker serves it\.$/m,
    );
    expect(await cli.out("version", "list")).toMatch(/ship +2 +1 /);
    expect(await cli.json("version", "list")).toMatchObject([{ workflow: "ship", codeVersion: 2 }]);
    const { code, said } = await cli.refusal(
      ...["version", "set", "ship", "3", "--expected-version", "0"],
    );
    expect({ code, isTold: said.includes("PAWL_STALE_VERSION") }).toEqual({ code, isTold: true });
    expect(code).not.toBe(0);
    expect(await cli.out("version", "remove", "ship")).toContain("has no current version any more");
    expect(await cli.out("version", "remove", "ship")).toContain("nothing was changed");
    expect(await cli.out("version", "list")).toContain("0 workflows with a current version.");
  });
});

describe("pawl run start --current", () => {
  const start = (runId: string, mode: string) =>
    ["run", "start", "ship", "--plan", plan, "--id", runId, "--current", mode] as const;

  it("begins with the current version, and run show says which one it goes by", async () => {
    const { said } = await cli.refusal(...start("early", "pinned"));
    expect(said).toContain("PAWL_NO_CURRENT_VERSION");
    expect(said).toContain("npx --no pawl version list");
    await cli.out("version", "set", "ship", "2");
    await cli.out(...start("kept", "pinned"));
    await cli.out(...start("moving", "follow"));
    await cli.out("version", "set", "ship", "3");
    expect(await cli.out("run", "show", "kept")).toMatch(/code: +version 2, pinned/);
    expect(await cli.out("run", "show", "moving")).toMatch(/code: +follows the current version/);
    expect(await cli.out("why", "moving")).toContain(
      'no worker that serves kind "ship@3", the current version, is connected',
    );
    await using _worker = await cli.client.worker({ serve: [shipAt(2), shipAt(3)] });
    await cli.until("COMPLETED", "run", "show", "kept");
    await cli.until("COMPLETED", "run", "show", "moving");
    expect(await cli.out("run", "show", "moving")).toMatch(/main +ship@3 +COMPLETED/);
  });
});

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startPawl } from "./support/pawl-process.js";
import { runCli } from "./support/run-cli.js";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl restore-"));
});

afterAll(() => rm(folder, { recursive: true }));

const run = (...args: string[]): ReturnType<typeof runCli> => runCli(args, { cwd: folder });

describe("pawl restore", () => {
  it("is refused where there is no store, and makes none", async () => {
    const refused = await run("restore", "--dir", "nowhere");
    expect(refused.code).toBe(1);
    expect(refused.errors).toContain("there is no such folder");
  });

  it("is refused while a kernel serves the folder; afterwards it begins a new epoch, and all is served on", async () => {
    const plan = { tasks: [{ name: "main", kind: "nobody" }] };
    await writeFile(join(folder, "plan.json"), JSON.stringify(plan));
    const kernel = startPawl(folder, ["serve", "--port", "0", "--json"]);
    await kernel.line(1);
    expect((await run("run", "start", "w", "--plan", "plan.json", "--id", "r1")).code).toBe(0);
    const refused = await run("restore");
    expect(refused.code).toBe(1);
    expect(refused.errors).toContain(`process ${kernel.child.pid} (port `);
    kernel.child.kill("SIGKILL");
    await kernel.end;

    const told = await run("restore", "--reason", "put back from a copy");
    expect(told.code).toBe(0);
    expect(told.out).toMatch(/^The store in \.pawl begins epoch 2, after sequence 1\.\n/);
    expect(told.out).toContain("npx --no pawl serve --dir .pawl");
    const again = await run("restore", "--json");
    expect(JSON.parse(again.out)).toEqual({ epoch: 3, afterSequence: "2", lostSequence: "0" });
    expect((await run("verify")).code).toBe(0);

    const next = startPawl(folder, ["serve", "--port", "0", "--json"]);
    await next.line(1);
    const info = await run("info");
    expect(info.out).toContain("epoch 3");
    expect((await run("run", "show", "r1")).code).toBe(0);
    next.child.kill("SIGKILL");
    await next.end;
  });
});

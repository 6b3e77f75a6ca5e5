import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { StartRunsRequest } from "@pawl/proto/v1/run_service_pb.js";
import { describe, expect, it } from "vitest";
import { parseLines } from "./support/run-cli.js";
import { ScriptedCli } from "./support/scripted-cli.js";
import type { Script } from "./support/scripted-kernel.js";

const cli = ScriptedCli.forEachTest();
const scripted = (runs: NonNullable<Script["runs"]>): Promise<void> => cli.script({ runs });
const run: typeof cli.run = (...args) => cli.run(...args);

const plan = '{"tasks": [{"name": "main", "kind": "hello"}], "output": "main"}';

describe("pawl run start", () => {
  it("sends plan, input, labels and id, and says what to do next", async () => {
    const asked: StartRunsRequest[] = [];
    await scripted({
      startRuns: (request) => {
        asked.push(request);
        return { results: [{ version: 1, incarnation: 1 }], position: Uint8Array.of(1, 2) };
      },
    });
    await writeFile(join(cli.folder, "plan.json"), plan);
    await writeFile(join(cli.folder, "input.json"), '{"cents": 100}');
    const args = ["--plan", "plan.json", "--input", "@input.json", "--id", "order-7"];
    const end = await run(
      "run",
      "start",
      "refund",
      ...args,
      "--label",
      "team=a=b",
      "--label",
      "x=",
    );
    expect(end).toEqual({
      code: 0,
      errors: "",
      out:
        'Run order-7 of workflow "refund" is started: its start is durable, and its tasks wait for workers.\n' +
        "\nNext:\n  npx --no pawl run watch order-7\n  npx --no pawl why order-7\n",
    });
    const [start] = asked[0]?.runs ?? [];
    expect(start?.workflow).toBe("refund");
    expect(start?.plan?.tasks.map(({ name, kind }) => [name, kind])).toEqual([["main", "hello"]]);
    expect(start?.plan?.output).toBe("main");
    expect(start?.input?.contentType).toBe("application/json");
    expect(Buffer.from((start?.input?.body.value ?? "") as Uint8Array).toString()).toBe(
      '{"cents": 100}',
    );
    expect(start?.labels.map(({ key, value }) => [key, value])).toEqual([
      ["team", "a=b"],
      ["x", ""],
    ]);
  });

  it("prints one object with --json, and says existing", async () => {
    await scripted({
      startRuns: () => ({
        results: [{ existing: true, version: 5, incarnation: 1 }],
        position: Uint8Array.of(1, 2),
      }),
    });
    await writeFile(join(cli.folder, "plan.json"), plan);
    const end = await run("run", "start", "refund", "--plan", "plan.json", "--id", "r", "--json");
    expect(end.code).toBe(0);
    expect(parseLines(end.out)).toEqual([
      { runId: "r", existing: true, version: 5, incarnation: 1, position: "AQI=" },
    ]);
  });
});

describe("pawl run start, refused", () => {
  it("ends with 1 and the reason when the start is refused", async () => {
    await scripted({
      startRuns: () => ({
        results: [
          {
            rejection: {
              reason: "PAWL_FINGERPRINT_CONFLICT",
              message: "Expected the same input, but it differs.",
            },
          },
        ],
      }),
    });
    await writeFile(join(cli.folder, "plan.json"), plan);
    const end = await run("run", "start", "refund", "--plan", "plan.json", "--id", "r");
    expect(end.code).toBe(1);
    expect(end.out).toBe("");
    expect(end.errors).toContain("pawl: Expected the same input, but it differs.\n");
    expect(end.errors).toContain("Reason: PAWL_FINGERPRINT_CONFLICT (exit code 1)\n");
  });

  it.each([
    ["a plan that is not there", ["--plan", "none.json"], "none.json"],
    ["a plan with an unknown field", ["--plan", "bad.json"], "bad.json"],
    ["input that is no JSON", ["--plan", "plan.json", "--input", "{"], "--input"],
    ["a label without a key", ["--plan", "plan.json", "--label", "=x"], "key=value"],
    ["no plan", [], "--plan"],
  ])("refuses %s as a wrong command line, before anything is sent", async (_, args, named) => {
    await scripted({});
    await writeFile(join(cli.folder, "plan.json"), plan);
    await writeFile(join(cli.folder, "bad.json"), '{"task": []}');
    const end = await run("run", "start", "refund", ...args);
    expect(end.code).toBe(2);
    expect(end.out).toBe("");
    expect(end.errors).toContain("Expected");
    expect(end.errors).toContain(named);
  });
});

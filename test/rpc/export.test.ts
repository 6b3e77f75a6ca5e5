import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { ExportDamaged, ExportVerifier } from "@pawl/server/kernel/export/export-verifier.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { json, oneTask } from "./support/fixtures.js";
import { openTestServer, type TestServer } from "./support/test-server.js";

const run = RunService.method;
let server: TestServer;
let lines: string[];

beforeAll(async () => {
  server = await openTestServer();
  const large = json("y".repeat(100_000));
  await server.grpc.unary(run.startRuns, {
    runs: [oneTask("a", "k", { input: json({ n: 1 }) }), oneTask("b", "k", { input: large })],
  });
  await server.grpc.unary(run.terminateRun, { runId: "a", reason: "over" });
  lines = await exported({});
});

afterAll(() => server.close());

async function exported(request: { runIds?: string[] }): Promise<string[]> {
  const found: string[] = [];
  for await (const message of server.json.stream(run.exportRuns, request)) {
    found.push(...message.lines);
  }
  return found;
}

function verify(all: readonly string[]): ReturnType<ExportVerifier["finish"]> {
  const verifier = new ExportVerifier();
  for (const line of all) verifier.line(line);
  return verifier.finish();
}

function firstBad(all: readonly string[]): number {
  try {
    verify(all);
  } catch (error) {
    if (error instanceof ExportDamaged) return error.line;
    throw error;
  }
  return 0;
}

describe("an export", () => {
  test("holds every run, and is sound by itself", () => {
    const counts = verify(lines);
    expect(counts).toMatchObject({ runs: 2, contents: 1, lines: lines.length });
    // Started and terminated; started.
    expect(counts.events).toBe(3);
  });

  test("holds the runs that are named, in their order", async () => {
    const named = await exported({ runIds: ["b"] });
    expect(verify(named).runs).toBe(1);
    expect(JSON.parse(named[1] ?? "")).toMatchObject({ kind: "run", run: { runId: "b" } });
  });

  test("is found changed at the first line that is, whichever byte it is", () => {
    for (const [index, line] of lines.entries()) {
      for (const at of [0, line.length >> 1, line.length - 1]) {
        const other = line.charAt(at) === "7" ? "8" : "7";
        const changed = `${line.slice(0, at)}${other}${line.slice(at + 1)}`;
        expect(firstBad([...lines.slice(0, index), changed, ...lines.slice(index + 1)])).toBe(
          index + 1,
        );
      }
    }
  });

  test("is found short, long, or in another order", () => {
    for (let index = 0; index < lines.length; index++) {
      const without = [...lines.slice(0, index), ...lines.slice(index + 1)];
      expect(firstBad(without)).toBe(Math.min(index + 1, lines.length));
    }
    expect(firstBad([...lines, lines.at(-1) ?? ""])).toBe(lines.length + 1);
    expect(firstBad(["{}"])).toBe(1);
    expect(firstBad(["not json"])).toBe(1);
  });
});

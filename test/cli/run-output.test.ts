import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { OutputEntrySchema } from "@pawl/proto/v1/output_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { ReadOutputRequest } from "@pawl/proto/v1/run_service_pb.js";
import { describe, expect, it } from "vitest";
import { parseLines } from "./support/run-cli.js";
import { ScriptedCli } from "./support/scripted-cli.js";
import { refusal, type Script } from "./support/scripted-kernel.js";

const cli = ScriptedCli.forEachTest();
const scripted = (runs: NonNullable<Script["runs"]>): Promise<void> => cli.script({ runs });
const run: typeof cli.run = (...args) => cli.run(...args);

type Entry = MessageInitShape<typeof OutputEntrySchema>;

function chunk(
  number: number,
  text: string,
  more: { dropped?: number; channel?: string } = {},
): Entry {
  const data = Buffer.from(JSON.stringify(text));
  const payload = { contentType: "application/json", body: { case: "data" as const, value: data } };
  const value = { task: "main", attempt: 1, leaseVersion: 1, number, payload, ...more };
  return { entry: { case: "chunk", value } };
}

const reset: Entry = {
  entry: { case: "reset", value: { task: "main", attempt: 2, leaseVersion: 2 } },
};
const taskEnd: Entry = {
  entry: { case: "end", value: { task: "main", taskStatus: TaskStatus.FAILED, dropped: 2 } },
};
const runEnd: Entry = { entry: { case: "end", value: { runStatus: RunStatus.FAILED } } };

describe("pawl run output", () => {
  it("prints what is there, a line each, what is missing by number, and ends", async () => {
    const asked: ReadOutputRequest[] = [];
    await scripted({
      async *readOutput(request) {
        asked.push(request);
        yield {};
        yield { entries: [chunk(1, "a"), chunk(5, "b\u001b[2J", { dropped: 3, channel: "log" })] };
        yield { entries: [reset] };
      },
    });
    const end = await run("run", "output", "order-7", "--task", "main");
    expect(end.code).toBe(0);
    expect(end.out.split("\n")).toEqual([
      'main #1  "a"',
      "3 chunks dropped.",
      'main/log #5  "b\\u001b[2J"',
      "Task main begins again, attempt 2: what came before counts no more.",
      "",
    ]);
    expect(asked).toMatchObject([{ runId: "order-7", task: "main", once: true }]);
    expect(asked[0]?.channel).toBeUndefined();
  });

  it("says so when there is nothing", async () => {
    await scripted({
      async *readOutput() {
        yield {};
      },
    });
    const end = await run("run", "output", "order-7");
    expect(end.code).toBe(0);
    expect(end.out).toContain("no live output of it");
    expect(end.out).toContain("pawl run output order-7 --follow");
  });
});

describe("pawl run output --follow", () => {
  it("follows to the end of the run, and goes on behind what it has when the stream breaks", async () => {
    const asked: ReadOutputRequest[] = [];
    await scripted({
      async *readOutput(request) {
        asked.push(request);
        if (asked.length === 1) {
          yield { entries: [chunk(1, "a"), chunk(2, "b"), chunk(1, "c", { channel: "log" })] };
          throw refusal(
            Code.Unavailable,
            "PAWL_UNAVAILABLE",
            "Expected a kernel, but it goes away.",
          );
        }
        yield { entries: [chunk(3, "d")] };
        yield { entries: [taskEnd, runEnd] };
      },
    });
    const end = await run("run", "output", "order-7", "--follow", "--channel", "");
    expect(end.code).toBe(0);
    expect(end.out.split("\n")).toEqual([
      'main #1  "a"',
      'main #2  "b"',
      'main/log #1  "c"',
      'main #3  "d"',
      "2 chunks dropped.",
      "Task main is FAILED.",
      "The run is FAILED.",
      "",
    ]);
    expect(asked.map(({ once, channel }) => [once, channel])).toEqual([
      [false, ""],
      [false, ""],
    ]);
    expect(asked[1]?.after).toMatchObject([
      { task: "main", leaseVersion: 1, channel: "", number: 2 },
      { task: "main", leaseVersion: 1, channel: "log", number: 1 },
    ]);
  });

  it("forgets what was reset, and ends with the task that was asked for", async () => {
    const asked: ReadOutputRequest[] = [];
    await scripted({
      async *readOutput(request) {
        asked.push(request);
        if (asked.length === 1) {
          yield { entries: [chunk(1, "a"), reset] };
          setImmediate(() => cli.kernel.cut());
          await new Promise(() => {});
        }
        yield { entries: [taskEnd] };
      },
    });
    const end = await run("run", "output", "order-7", "--follow", "--task", "main", "--json");
    expect(end.code).toBe(0);
    expect(parseLines(end.out)).toMatchObject([
      { chunk: { task: "main", number: 1, attempt: 1 } },
      { reset: { task: "main", attempt: 2, leaseVersion: 2 } },
      { end: { task: "main", taskStatus: "TASK_STATUS_FAILED", dropped: 2 } },
    ]);
    expect(asked[1]?.after).toEqual([]);
  });

  it("does not go on after a refusal", async () => {
    await scripted({
      // biome-ignore lint/correctness/useYield: it is refused before anything is sent.
      async *readOutput() {
        throw refusal(Code.NotFound, "PAWL_TASK_NOT_FOUND", "Expected task x, but there is none.");
      },
    });
    const end = await run("run", "output", "order-7", "--task", "x");
    expect(end.code).toBe(1);
    expect(end.errors).toContain("PAWL_TASK_NOT_FOUND");
  });
});

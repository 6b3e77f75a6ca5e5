import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import {
  type CancelRunRequest,
  type ListRunsRequest,
  ListRunsResponseSchema,
  type StartRunsRequest,
  type WatchRunRequest,
} from "@pawl/proto/v1/run_service_pb.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseLines, runCli } from "./support/run-cli.js";
import { completedTask, sampleEvent, sampleRun, sampleTask } from "./support/samples.js";
import {
  refusal,
  type Script,
  type ScriptedKernel,
  startScriptedKernel,
} from "./support/scripted-kernel.js";

let kernel: ScriptedKernel;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl-cli-"));
});

afterEach(async () => {
  await kernel.close();
  await rm(folder, { recursive: true });
});

async function scripted(runs: NonNullable<Script["runs"]>): Promise<void> {
  kernel = await startScriptedKernel({ runs });
}

function run(...args: string[]): ReturnType<typeof runCli> {
  return runCli(args, { cwd: folder, env: { PAWL_URL: kernel.url } });
}

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
    await writeFile(join(folder, "plan.json"), plan);
    await writeFile(join(folder, "input.json"), '{"cents": 100}');
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
    await writeFile(join(folder, "plan.json"), plan);
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
    await writeFile(join(folder, "plan.json"), plan);
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
    await writeFile(join(folder, "plan.json"), plan);
    await writeFile(join(folder, "bad.json"), '{"task": []}');
    const end = await run("run", "start", "refund", ...args);
    expect(end.code).toBe(2);
    expect(end.out).toBe("");
    expect(end.errors).toContain("Expected");
    expect(end.errors).toContain(named);
  });
});

describe("pawl run show", () => {
  it("says where the run and each task stand, and what to do next", async () => {
    await scripted({
      getRun: () => ({ run: sampleRun() }),
      listTasks: () => ({
        tasks: [completedTask("look"), sampleTask()],
      }),
    });
    const end = await run("run", "show", "order-7");
    expect(end.code).toBe(0);
    expect(end.out).toBe(
      [
        'Run order-7 of workflow "refund" is RUNNING.',
        '  why:       Task "pay" tries again in 12 s',
        "  tasks:     1 COMPLETED, 1 BACKOFF",
        "  started:   2026-03-01T12:58:55+01:00 (1m 5s ago)",
        "  version:   3 (plan version 1)",
        "  namespace: default",
        "  labels:    team=support",
        "",
        "TASK  KIND      STATUS     ATTEMPT    WHY                     LAST FAILURE",
        "look  payments  COMPLETED  1",
        "pay   payments  BACKOFF    1, 4 left  It tries again in 12s.  HttpError: 503 from the bank",
        "",
        "Next:",
        "  npx --no pawl why order-7",
        "  npx --no pawl run watch order-7",
        "",
      ].join("\n"),
    );
  });

  it("prints run and tasks as one object with --json, names as in the protocol", async () => {
    await scripted({
      getRun: () => ({ run: sampleRun() }),
      listTasks: () => ({ tasks: [sampleTask()] }),
    });
    const [shown] = parseLines((await run("run", "show", "order-7", "--json")).out);
    expect(shown).toMatchObject({
      run: { runId: "order-7", status: "RUN_STATUS_RUNNING", cancelRequested: false },
      tasks: [{ name: "pay", status: "TASK_STATUS_BACKOFF", waitsUntil: "2026-03-01T12:00:12Z" }],
    });
  });

  it("shows ids and texts of others without letting them write on the terminal", async () => {
    const runId = "x\u001b]0;owned\u0007";
    await scripted({
      getRun: () => ({ run: sampleRun({ runId, why: "\u001b[2J" }) }),
      listTasks: () => ({ tasks: [sampleTask({ name: "\u001b[31m" })] }),
    });
    const { out } = await run("run", "show", runId);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/);
  });
});

describe("pawl run list", () => {
  it("reads as many pages as the limit needs, and says when there are more", async () => {
    const asked: ListRunsRequest[] = [];
    await scripted({
      listRuns: (request) => {
        asked.push(request);
        const runs = Array.from({ length: 2 }, (_, index) =>
          sampleRun({ runId: `r${asked.length}${index}` }),
        );
        return create(ListRunsResponseSchema, { runs, nextPageToken: `page ${asked.length}` });
      },
    });
    const args = [
      "--limit",
      "4",
      "--status",
      "running",
      "--workflow",
      "refund",
      "--namespace",
      "n",
    ];
    const end = await run("run", "list", ...args, "--json");
    expect(parseLines(end.out)).toMatchObject(
      ["r10", "r11", "r20", "r21"].map((runId) => ({ runId })),
    );
    expect(parseLines(end.errors)).toEqual([
      { notice: "There are more than 4 runs; --limit lists more." },
    ]);
    expect(
      asked.map(({ namespace, status, workflow, pageSize, pageToken }) => ({
        namespace,
        status,
        workflow,
        pageSize,
        pageToken,
      })),
    ).toEqual([
      { namespace: "n", status: RunStatus.RUNNING, workflow: "refund", pageSize: 4, pageToken: "" },
      {
        namespace: "n",
        status: RunStatus.RUNNING,
        workflow: "refund",
        pageSize: 2,
        pageToken: "page 1",
      },
    ]);
  });

  it("is a table for people", async () => {
    await scripted({ listRuns: () => ({ runs: [sampleRun()] }) });
    expect((await run("run", "list")).out).toBe(
      [
        "1 run, newest first.",
        "",
        "RUN      WORKFLOW  STATUS   TASKS  STARTED                                WHY",
        'order-7  refund    RUNNING  1/2    2026-03-01T12:58:55+01:00 (1m 5s ago)  Task "pay" tries again in 12 s',
        "",
        "Next:",
        "  npx --no pawl run show order-7",
        "",
      ].join("\n"),
    );
  });

  it("says when no run matches", async () => {
    await scripted({ listRuns: () => ({}) });
    expect((await run("run", "list")).out).toContain("No run matches.");
    expect(await run("run", "list", "--json")).toEqual({ code: 0, out: "", errors: "" });
  });

  it("refuses a state that no run has", async () => {
    await scripted({});
    const end = await run("run", "list", "--status", "waiting");
    expect(end.code).toBe(2);
    expect(end.errors).toContain("running, completed, failed, cancelled, terminated");
  });
});

describe("pawl run watch", () => {
  it("goes on where it was when the stream breaks, and ends with the run", async () => {
    const asked: WatchRunRequest[] = [];
    await scripted({
      async *watchRun(request) {
        asked.push(request);
        if (asked.length === 1) {
          yield {
            events: [sampleEvent({ number: 1, type: "RunStarted", task: "", attempt: 0 })],
            position: Uint8Array.of(7),
          };
          throw refusal(
            Code.Unavailable,
            "PAWL_UNAVAILABLE",
            "Expected a kernel that takes requests, but it goes away.",
          );
        }
        yield { events: [sampleEvent()], position: Uint8Array.of(8) };
        yield { events: [], position: Uint8Array.of(9), closed: true };
      },
      getRun: () => ({
        run: sampleRun({ status: RunStatus.COMPLETED, why: "It completed after 65 s" }),
      }),
    });
    const end = await run("run", "watch", "order-7");
    expect(end.code).toBe(0);
    expect(end.errors).toBe(
      "The stream ended; going on where it was as soon as the kernel answers.\n",
    );
    expect(end.out.split("\n").slice(0, 5)).toEqual([
      "    1  2026-03-01T12:59:00+01:00  RunStarted",
      "    2  2026-03-01T12:59:00+01:00  TaskLeased            task pay; attempt 1",
      "",
      'Run order-7 of workflow "refund" is COMPLETED.',
      "It completed after 65 s.",
    ]);
    expect(asked.map(({ position }) => [...position])).toEqual([[], [7]]);
  });

  it("goes on when the connection is cut, without a word of the kernel", async () => {
    let streams = 0;
    await scripted({
      async *watchRun() {
        streams += 1;
        if (streams === 1) {
          yield { events: [sampleEvent()], position: Uint8Array.of(7) };
          setImmediate(() => kernel.cut());
          await new Promise(() => {});
        }
        yield { position: Uint8Array.of(8), closed: true };
      },
    });
    const end = await run("run", "watch", "order-7", "--json");
    expect(end.code).toBe(0);
    expect(parseLines(end.out)).toMatchObject([
      { position: "Bw==", closed: false, events: [{ sequence: "9007199254740993", number: 2 }] },
      { position: "CA==", closed: true },
    ]);
  });
});

describe("pawl run watch, from a position", () => {
  it("takes up the position that an earlier line gave", async () => {
    const asked: WatchRunRequest[] = [];
    await scripted({
      async *watchRun(request) {
        asked.push(request);
        yield { closed: true };
      },
    });
    expect((await run("run", "watch", "order-7", "--after", "Bw==", "--json")).code).toBe(0);
    expect([...(asked[0]?.position ?? [])]).toEqual([7]);
    expect((await run("run", "watch", "order-7", "--after", "Bw", "--json")).code).toBe(2);
  });

  it("does not go on after a refusal", async () => {
    let streams = 0;
    await scripted({
      // biome-ignore lint/correctness/useYield: it is refused before anything is sent.
      async *watchRun() {
        streams += 1;
        throw refusal(
          Code.OutOfRange,
          "PAWL_POSITION_TRIMMED",
          "Expected a position that is kept, but it is older.",
        );
      },
    });
    const end = await run("run", "watch", "order-7");
    expect([end.code, streams]).toEqual([1, 1]);
    expect(end.errors).toContain("PAWL_POSITION_TRIMMED");
  });
});

describe("pawl run history", () => {
  it("prints one event a line, 64-bit numbers as strings", async () => {
    await scripted({
      async *getHistory({ fromNumber }) {
        yield { events: [sampleEvent({ number: fromNumber })] };
        yield { events: [sampleEvent({ number: fromNumber + 1, detail: "by a late report" })] };
      },
    });
    const end = await run("run", "history", "order-7", "--from", "4", "--json");
    expect(parseLines(end.out)).toMatchObject([
      { number: 4, sequence: "9007199254740993", type: "TaskLeased" },
      { number: 5, detail: "by a late report" },
    ]);
  });
});

describe("pawl run cancel and terminate", () => {
  it("send reason and version, and say what happens now", async () => {
    const asked: CancelRunRequest[] = [];
    await scripted({
      cancelRun: (request) => {
        asked.push(request);
        return { version: 4, status: RunStatus.RUNNING };
      },
    });
    const end = await run(
      "run",
      "cancel",
      "order-7",
      "--reason",
      "a mistake",
      "--expected-version",
      "3",
    );
    expect(end.out).toBe(
      "Run order-7 was asked to stop; its running tasks have been told and may still clean up.\n" +
        "\nNext:\n  npx --no pawl run watch order-7\n",
    );
    expect(asked[0]).toMatchObject({ runId: "order-7", reason: "a mistake", expectedVersion: 3 });
    await run("run", "cancel", "order-7");
    expect(asked[1]?.expectedVersion).toBeUndefined();
  });

  it("say when there was nothing to do", async () => {
    await scripted({
      cancelRun: () => ({ existing: true, version: 4, status: RunStatus.CANCELLED }),
      terminateRun: () => ({ existing: true, version: 4 }),
    });
    expect((await run("run", "cancel", "r")).out).toContain("had been asked to stop before");
    expect((await run("run", "terminate", "r")).out).toContain("had been terminated before");
    expect(parseLines((await run("run", "terminate", "r", "--json")).out)).toEqual([
      { runId: "r", existing: true, version: 4, position: "" },
    ]);
  });
});

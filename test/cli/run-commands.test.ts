import { create } from "@bufbuild/protobuf";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import {
  type CancelRunRequest,
  type ListRunsRequest,
  ListRunsResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import { describe, expect, it } from "vitest";
import { parseLines } from "./support/run-cli.js";
import { completedTask, sampleRun, sampleTask } from "./support/samples.js";
import { ScriptedCli } from "./support/scripted-cli.js";
import type { Script } from "./support/scripted-kernel.js";

const cli = ScriptedCli.forEachTest();
const scripted = (runs: NonNullable<Script["runs"]>): Promise<void> => cli.script({ runs });
const run: typeof cli.run = (...args) => cli.run(...args);

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

import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { FailureSchema } from "@pawl/proto/v1/failure_pb.js";
import { OperationScope, OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { RecoveryClass } from "@pawl/proto/v1/recovery_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import type { ListReviewsRequest, ResolveReviewRequest } from "@pawl/proto/v1/review_service_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import { NOW_MS, parseLines } from "./support/run-cli.js";
import { sampleReview, sampleRun, sampleTask } from "./support/samples.js";
import { ScriptedCli } from "./support/scripted-cli.js";
import { refusal, type Script } from "./support/scripted-kernel.js";

const cli = ScriptedCli.forEachTest();
const scripted = (script: Script): Promise<void> => cli.script(script);
const run: typeof cli.run = (...args) => cli.run(...args);

describe("pawl why", () => {
  it("gives the reason, the last error and the next retry", async () => {
    await scripted({
      runs: {
        getRun: () => ({ run: sampleRun() }),
        listTasks: () => ({
          tasks: [
            sampleTask({ name: "look", status: TaskStatus.COMPLETED }),
            sampleTask(),
            sampleTask({ name: "later", status: TaskStatus.BLOCKED }),
          ],
        }),
      },
      reviews: { listReviews: () => ({}) },
    });
    expect((await run("why", "order-7")).out).toBe(
      [
        'Run order-7 of workflow "refund" is RUNNING.',
        'Task "pay" tries again in 12 s.',
        "",
        'Task pay of kind "payments" is BACKOFF.',
        "  why:          It tries again in 12s.",
        "  until:        2026-03-01T13:00:12+01:00 (in 12s)",
        "  attempt:      1, 4 left",
        "  last failure: HttpError: 503 from the bank",
        "",
        "Next:",
        "  npx --no pawl run watch order-7",
        "  npx --no pawl run show order-7",
        "",
      ].join("\n"),
    );
  });

  it("puts what waits for a person first, with its review", async () => {
    const asked: ListReviewsRequest[] = [];
    await scripted({
      runs: {
        getRun: () => ({ run: sampleRun() }),
        listTasks: () => ({
          tasks: [
            sampleTask({ name: "held", status: TaskStatus.LEASED }),
            sampleTask({ status: TaskStatus.NEEDS_REVIEW }),
          ],
        }),
      },
      reviews: {
        listReviews: (request) => {
          asked.push(request);
          return { reviews: [sampleReview()] };
        },
      },
    });
    const { out } = await run("why", "order-7");
    expect(out.indexOf("Task pay")).toBeLessThan(out.indexOf("Task held"));
    expect(out).toContain("\n  npx --no pawl reviews list --run order-7\n");
    expect(asked[0]).toMatchObject({ runId: "order-7", includeResolved: false });
    const [json] = parseLines((await run("why", "order-7", "--json")).out);
    expect(json).toMatchObject({
      runId: "order-7",
      status: "RUN_STATUS_RUNNING",
      why: 'Task "pay" tries again in 12 s',
      tasks: [{ name: "pay" }, { name: "held" }],
      reviews: [{ reviewId: "4-0" }],
    });
  });

  it("says how a run failed", async () => {
    await scripted({
      runs: {
        getRun: () => ({
          run: sampleRun({
            status: RunStatus.FAILED,
            why: "It failed.",
            failure: create(FailureSchema, { kind: "HttpError", message: "503" }),
          }),
        }),
        listTasks: () => ({ tasks: [sampleTask({ status: TaskStatus.FAILED })] }),
      },
      reviews: { listReviews: () => ({}) },
    });
    const { out } = await run("why", "order-7");
    expect(out).toContain("is FAILED.\nIt failed.\n  failure: HttpError: 503\n");
    expect(out).toContain("npx --no pawl report order-7");
  });
});

describe("pawl report", () => {
  const lines = [
    {
      class: RecoveryClass.UNTOUCHED,
      task: "look",
      sentence: "It ran once.",
      eventNumbers: [1, 2],
    },
    {
      class: RecoveryClass.RETRIED,
      task: "pay",
      sentence: "It was tried twice.",
      eventNumbers: [3],
    },
    {
      class: RecoveryClass.NEEDS_REVIEW,
      task: "pay",
      operationKey: "k",
      sentence: "Nobody knows.",
    },
  ];

  it("says what recovery did, with the events that show it", async () => {
    await scripted({
      runs: {
        getRecoveryReport: () => ({
          runId: "order-7",
          status: RunStatus.RUNNING,
          why: "It waits for a person.",
          totals: [
            { class: RecoveryClass.RETRIED, tasks: 1 },
            { class: RecoveryClass.NEEDS_REVIEW, operations: 1 },
            { class: RecoveryClass.UNTOUCHED, tasks: 1 },
          ],
          lines,
        }),
      },
    });
    expect((await run("report", "order-7")).out).toBe(
      [
        "Run order-7 is RUNNING. It waits for a person.",
        "1 retried, 1 needs review, 1 untouched.",
        "",
        "CLASS         TASK  OPERATION  WHAT HAPPENED",
        "UNTOUCHED     look             It ran once. [events 1, 2]",
        "RETRIED       pay              It was tried twice. [events 3]",
        "NEEDS_REVIEW  pay   k          Nobody knows.",
        "",
        "Next:",
        "  npx --no pawl reviews list --run order-7",
        "  npx --no pawl run history order-7",
        "",
      ].join("\n"),
    );
    const [json] = parseLines((await run("report", "order-7", "--json")).out);
    expect(json).toMatchObject({ lines: [{ class: "RECOVERY_CLASS_UNTOUCHED" }, {}, {}] });
  });
});

describe("pawl op", () => {
  const operation = {
    key: "default/order-7/1/task/pay/refund/1",
    runId: "order-7",
    task: "pay",
    name: "refund",
    scope: OperationScope.TASK,
    target: "acct 9",
    status: OperationStatus.NEEDS_REVIEW,
    version: 3,
    fingerprint: Uint8Array.of(0xab, 1),
    sinkKind: SinkKind.OPAQUE,
    intendedAt: timestampFromMs(NOW_MS - 60_000),
    calls: 1,
    reviewId: "4-0",
    failure: { kind: "Timeout", message: "no answer" },
  };

  it("show tells all that is known of one, and how to decide", async () => {
    await scripted({
      operations: { getOperation: () => ({ operation }) },
      runs: { getHistory: async function* () {} },
    });
    const { out } = await run("op", "show", operation.key);
    expect(out.split("\n")).toEqual(
      expect.arrayContaining([
        `Operation ${operation.key} ("refund") is NEEDS_REVIEW.`,
        "  sink:        opaque",
        "  calls:       1",
        "  failure:     Timeout: no answer",
        "  fingerprint: ab01",
        "  npx --no pawl reviews list --run order-7",
      ]),
    );
  });

  it("list asks for a run and a state", async () => {
    const asked: unknown[] = [];
    await scripted({
      operations: {
        listOperations: (request) => {
          asked.push([request.runId, request.status]);
          return { operations: [operation] };
        },
      },
    });
    const { out } = await run("op", "list", "order-7", "--status", "in-doubt");
    expect(asked).toEqual([["order-7", OperationStatus.IN_DOUBT]]);
    expect(out).toContain("NEEDS_REVIEW  opaque  acct 9  1");
    const [json] = parseLines((await run("op", "list", "--json")).out);
    expect(json).toMatchObject({ key: operation.key, status: "OPERATION_STATUS_NEEDS_REVIEW" });
    expect(asked[1]).toEqual(["", OperationStatus.UNSPECIFIED]);
  });
});

describe("pawl reviews list", () => {
  it("says what is known and how to decide", async () => {
    await scripted({ reviews: { listReviews: () => ({ reviews: [sampleReview()] }) } });
    expect((await run("reviews", "list")).out.split("\n")).toEqual([
      "1 review, oldest first.",
      "",
      "Review 4-0 of an operation waits for a person.",
      "  known:     One call was sent and nobody knows how it ended.",
      "  run:       order-7",
      "  task:      pay",
      "  operation: default/order-7/1/task/pay/refund/1",
      "  opened:    2026-03-01T12:00:00+01:00 (1h ago)",
      "  choices:   done, retry, abandon, fail",
      "  version:   1",
      "  decide: npx --no pawl reviews resolve 4-0 --expected-version 1 --choice CHOICE --reason TEXT",
      "",
      "Next:",
      "  npx --no pawl op show default/order-7/1/task/pay/refund/1",
      "  npx --no pawl reviews resolve --help",
      "",
    ]);
  });

  it("asks for resolved ones only together with a run", async () => {
    await scripted({ reviews: { listReviews: () => ({}) } });
    expect((await run("reviews", "list", "--all")).code).toBe(2);
    expect((await run("reviews", "list", "--all", "--run", "r")).code).toBe(0);
  });
});

let asked: ResolveReviewRequest[];

async function withReview(existing: boolean): Promise<void> {
  asked = [];
  await scripted({
    reviews: {
      listReviews: () => ({
        reviews: [sampleReview({ reviewId: "9-9", version: 8 }), sampleReview({ version: 2 })],
      }),
      resolveReview: (request) => {
        asked.push(request);
        return { existing, version: 3 };
      },
    },
  });
}

describe("pawl reviews resolve", () => {
  it("restates the version that the review has now", async () => {
    await withReview(false);
    const end = await run(
      "reviews",
      "resolve",
      "4-0",
      "--choice",
      "retry",
      "--reason",
      "the bank has no trace",
    );
    expect(end.out.split("\n")[0]).toBe(
      "Review 4-0 is resolved: retry. It is tried again: an effect with the same key, a task with all its attempts.",
    );
    expect(asked).toMatchObject([
      {
        reviewId: "4-0",
        choice: ReviewChoice.RETRY,
        reason: "the bank has no trace",
        expectedVersion: 2,
      },
    ]);
  });

  it("sends the result with done, and the version that was given", async () => {
    await withReview(true);
    const args = [
      "--choice",
      "done",
      "--result",
      '{"id":5}',
      "--reason",
      "seen",
      "--expected-version",
      "1",
    ];
    const end = await run("reviews", "resolve", "4-0", ...args, "--json");
    expect(parseLines(end.out)).toEqual([
      { reviewId: "4-0", existing: true, version: 3, position: "" },
    ]);
    expect(asked[0]?.expectedVersion).toBe(1);
    expect(Buffer.from((asked[0]?.result?.body.value ?? "") as Uint8Array).toString()).toBe(
      '{"id":5}',
    );
  });

  it.each([
    [["--choice", "done", "--reason", "x"], "--result"],
    [["--choice", "retry", "--reason", "x", "--result", "1"], "--result"],
    [["--choice", "perhaps", "--reason", "x"], "done, retry, abandon, fail"],
    [["--choice", "retry"], "--reason"],
    [["--choice", "retry", "--reason", "x", "--expected-version", "-1"], "whole number"],
  ])("refuses %j before anything is sent", async (args, named) => {
    await withReview(false);
    const end = await run("reviews", "resolve", "4-0", ...args);
    expect([end.code, asked.length]).toEqual([2, 0]);
    expect(end.errors).toContain(named);
  });

  it("lets the kernel say what became of a review that is not open", async () => {
    await scripted({
      reviews: {
        listReviews: () => ({}),
        resolveReview: ({ expectedVersion }) => {
          throw refusal(
            Code.NotFound,
            "PAWL_REVIEW_NOT_FOUND",
            `No review, version ${expectedVersion}.`,
          );
        },
      },
    });
    const end = await run("reviews", "resolve", "4-7", "--choice", "retry", "--reason", "x");
    expect(end.code).toBe(1);
    expect(end.errors).toBe(
      "pawl: No review, version 4294967295.\nReason: PAWL_REVIEW_NOT_FOUND (exit code 1)\nNext:\n  npx --no pawl reviews list\n",
    );
  });
});

describe("pawl info", () => {
  it("says which kernel answers, and when its disk is low", async () => {
    await scripted({
      admin: {
        getServerInfo: () => ({
          version: "0.1.0",
          protocolVersion: 1,
          storeId: "5f1d",
          storeEpoch: 1,
          durableSequence: 1_234n,
          horizonSequence: 1_000n,
          residentRuns: 1,
          diskLow: true,
        }),
      },
    });
    const { out } = await run("info");
    expect(out).toContain(
      `Pawl 0.1.0 answers at ${cli.kernel.url}.\nIts disk is low: new runs are refused`,
    );
    expect(out).toContain("1,234 durable events, 234 of them not yet in rows");
    const [json] = parseLines((await run("info", "--json")).out);
    expect(json).toMatchObject({ storeId: "5f1d", durableSequence: "1234", diskLow: true });
  });
});

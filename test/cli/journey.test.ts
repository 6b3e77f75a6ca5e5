import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { type OperationRequestSchema, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { type Offer, WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PawlProcess, printedCommands, startPawl, wordsOf } from "./support/pawl-process.js";
import { parseLines, runCli } from "./support/run-cli.js";

/** An id that a shell would take apart. */
const runId = "order 7's $(run)";

const plan = {
  tasks: [
    { name: "look", kind: "desk", retry: { attemptsMax: 3, initialInterval: "0s" } },
    { name: "pay", kind: "desk", needs: ["look"] },
  ],
  output: "pay",
};

let folder: string;
let kernel: PawlProcess;
let connections: Http2SessionManager;
let workers: Client<typeof WorkerService>;
let operations: Client<typeof OperationService>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl journey-"));
  await writeFile(join(folder, "plan.json"), JSON.stringify(plan));
  kernel = startPawl(folder, ["serve", "--port", "0", "--json"]);
  const { listening } = JSON.parse(await kernel.line(1));
  const baseUrl = `http://127.0.0.1:${listening.port}`;
  connections = new Http2SessionManager(baseUrl);
  const transport = createGrpcTransport({ baseUrl, sessionManager: connections });
  workers = createClient(WorkerService, transport);
  operations = createClient(OperationService, transport);
});

afterAll(async () => {
  connections.abort();
  kernel.child.kill("SIGTERM");
  await kernel.end;
  await rm(folder, { recursive: true });
});

/** Runs a command in this process, in the kernel's folder. */
function run(args: readonly string[]): ReturnType<typeof runCli> {
  return runCli(args, { cwd: folder });
}

/** What was printed, once every command that it tells people to run was run as a shell reads it, and ended well. */
async function pawl(...args: string[]): Promise<string> {
  const end = await run(args);
  expect([end.code, end.errors]).toEqual([0, ""]);
  for (const command of printedCommands(end.out)) {
    // A watch of an open run has no end of its own.
    if (command.includes(" run watch ")) continue;
    const followed = await run(wordsOf(command));
    expect([command, followed.code, followed.errors]).toEqual([command, 0, ""]);
  }
  return end.out;
}

async function pawlJson(...args: string[]): Promise<Record<string, unknown>[]> {
  const end = await run([...args, "--json"]);
  expect([end.code, end.errors]).toEqual([0, ""]);
  return parseLines(end.out) as Record<string, unknown>[];
}

async function claim(): Promise<Offer> {
  const request = {
    sessionId: "desk",
    worker: "desk 1",
    serves: [{ kind: "desk" }],
    tasksMax: 1,
    once: true,
    wait: { seconds: 20n },
  };
  for await (const { offers } of workers.claimTasks(request)) {
    const [offer] = offers;
    if (offer !== undefined) return offer;
  }
  throw new Error("Expected an offer within 20 s, but none came");
}

function json(value: unknown): { contentType: string; body: { case: "data"; value: Uint8Array } } {
  const data = new TextEncoder().encode(JSON.stringify(value));
  return { contentType: "application/json", body: { case: "data", value: data } };
}

/** Reports how an attempt ended. */
async function report(
  { leaseVersion, task }: Offer,
  outcome:
    | { case: "output"; value: ReturnType<typeof json> }
    | { case: "failure"; value: { kind: string; message: string; retryable: boolean } },
): Promise<void> {
  const { results } = await workers.reportOutputs({
    reports: [{ runId, task, leaseVersion, outcome }],
  });
  expect(results[0]?.rejection).toBeUndefined();
}

const payment: MessageInitShape<typeof OperationRequestSchema> = {
  name: "refund",
  target: "acct 9",
  payload: json({ cents: 100 }),
  sink: { kind: SinkKind.OPAQUE, settleMs: 0 },
  callTimeoutMs: 1,
};

/** Calls an opaque sink and does not learn what came of it: the next call is held back for a person. */
async function loseAnOutcome({ task, leaseVersion }: Offer): Promise<string> {
  const holder = { runId, task, leaseVersion };
  const first = await operations.intendOperation({ holder, intentId: "1", operation: payment });
  const key = first.answer?.answer.case === "proceed" ? first.answer.answer.value.key : "";
  const unknown = { case: "unknown", value: { kind: "Timeout", message: "no answer" } } as const;
  await operations.observeOperation({
    holder,
    key,
    intentId: "1",
    observation: { outcome: unknown },
  });
  for (;;) {
    const next = await operations.intendOperation({ holder, intentId: "2", operation: payment });
    if (next.answer?.answer.case === "review") return key;
    // It may still take effect for some milliseconds.
    expect(next.answer?.answer.case).toBe("wait");
  }
}

// One story in order: each test goes on where the one before ended.
describe("a person with pawl at a real kernel", () => {
  it("starts a run, and is told what to do next", async () => {
    const args = [
      "start",
      "refund",
      "--plan",
      "plan.json",
      "--id",
      runId,
      "--input",
      '{"cents": 100}',
    ];
    expect(await pawl("run", ...args)).toContain("is started");
    expect(await pawl("run", ...args)).toContain("existed already with the same request");
    const [again] = await pawlJson("run", ...args);
    expect(again).toMatchObject({ runId, existing: true, incarnation: 1 });
  });

  it("is refused another run under the same id", async () => {
    const args = ["start", "refund", "--plan", "plan.json", "--id", runId, "--input", "2"];
    const end = await run(["run", ...args]);
    expect(end.code).toBe(1);
    expect(end.errors).toContain("PAWL_FINGERPRINT_CONFLICT");
  });

  it("sees why it is not finished: nobody serves its tasks", async () => {
    expect(await pawl("why", runId)).toMatch(/Task look of kind "desk" is READY\./);
    const [why] = await pawlJson("why", runId);
    expect(why).toMatchObject({ runId, status: "RUN_STATUS_RUNNING", tasks: [{ name: "look" }] });
  });

  it("sees the failure of an attempt", async () => {
    const failed = await claim();
    await report(failed, {
      case: "failure",
      value: { kind: "HttpError", message: "503 from the desk", retryable: true },
    });
    expect(await pawl("why", runId)).toContain("HttpError: 503 from the desk");
    expect(await pawl("run", "show", runId)).toContain("HttpError: 503 from the desk");
    await report(await claim(), { case: "output", value: json({ found: true }) });
  });

  it("finds what waits for a person, and decides it", async () => {
    const key = await loseAnOutcome(await claim());
    const [review] = await pawlJson("reviews", "list", "--run", runId);
    expect(review).toMatchObject({ runId, operationKey: key, subject: "REVIEW_SUBJECT_OPERATION" });
    expect(await pawl("reviews", "list")).toContain("waits for a person.");
    expect(await pawl("why", runId)).toContain("npx --no pawl reviews list --run");
    expect(await pawl("op", "show", key)).toContain("is NEEDS_REVIEW");
    expect(await pawl("op", "list", runId, "--status", "needs-review")).toContain(key);
    const id = String(review?.["reviewId"]);
    const decision = [
      "--choice",
      "done",
      "--result",
      '{"id": 5}',
      "--reason",
      "found it in the books",
    ];
    expect(await pawl("reviews", "resolve", id, ...decision)).toContain("is resolved: done.");
    expect(await pawl("reviews", "resolve", id, ...decision)).toContain(
      "had been resolved as done before",
    );
    const other = await run(["reviews", "resolve", id, "--choice", "retry", "--reason", "x"]);
    expect([other.code, other.errors.includes("PAWL_FINGERPRINT_CONFLICT")]).toEqual([1, true]);
    expect(await pawl("reviews", "list", "--run", runId, "--all")).toContain("was resolved: done.");
    expect(await pawl("op", "show", key)).toContain('result:      {"id":5}');
  });
});

describe("a person with pawl at the end of a run", () => {
  it("watches it to its end, and reads what recovery did", async () => {
    await report(await claim(), { case: "output", value: json({ paid: 5 }) });
    const watched = await pawl("run", "watch", runId);
    expect(watched).toContain("is COMPLETED.");
    const messages = await pawlJson("run", "watch", runId);
    expect(messages.at(-1)).toMatchObject({ closed: true });
    const events = messages.flatMap((message) => message["events"] as { number: number }[]);
    const history = await pawlJson("run", "history", runId);
    expect(events.map(({ number }) => number)).toEqual(history.map((_, index) => index + 1));
    const tail = await pawlJson("run", "history", runId, "--from", "3");
    expect(tail).toEqual(history.slice(2));
    const reported = await pawl("report", runId);
    expect(reported).toContain("RETRIED");
    expect(reported).toContain("RECONCILED");
    expect(await pawl("run", "list", "--status", "completed")).toContain("COMPLETED");
  });

  it("cannot stop what is over", async () => {
    const end = await run(["run", "cancel", runId, "--json"]);
    expect(end.code).toBe(1);
    expect(JSON.parse(end.errors).error.reason).toBe("PAWL_RUN_OVER");
  });

  it("cancels and terminates runs", async () => {
    await pawl("run", "start", "refund", "--plan", "plan.json", "--id", "-x");
    expect(await pawl("run", "cancel", "--reason", "a mistake", "--", "-x")).toContain(
      "it is CANCELLED",
    );
    await pawl("run", "start", "refund", "--plan", "plan.json", "--id", "y");
    const stale = await run(["run", "terminate", "y", "--expected-version", "999"]);
    expect([stale.code, stale.errors.includes("PAWL_STALE_VERSION")]).toEqual([1, true]);
    expect(await pawl("run", "terminate", "y")).toContain("is TERMINATED.");
    expect(await pawl("run", "terminate", "y")).toContain("had been terminated before");
  });

  it("is told which run does not exist", async () => {
    const end = await run(["run", "show", "no-such-run"]);
    expect(end.code).toBe(1);
    expect(end.errors).toContain("PAWL_RUN_NOT_FOUND");
    expect(printedCommands(end.errors)).toEqual(["npx --no pawl run list"]);
  });
});

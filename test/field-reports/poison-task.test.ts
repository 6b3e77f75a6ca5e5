import { RecoveryClass } from "@pawl/proto/v1/recovery_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { type Client, connect } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Processes } from "./support/processes.js";
import { job, riskyJob } from "./support/tasks.js";

let processes: Processes;
let clients: Client[];

beforeEach(() => {
  processes = new Processes();
  clients = [];
});

afterEach(async () => {
  await Promise.all(clients.map((client) => client.close({ drainMs: 0 })));
  await processes.end();
});

function connected(url: string): Client {
  const client = connect({ url, onConnection: () => undefined });
  clients.push(client);
  return client;
}

describe("a task that kills every worker that takes it", () => {
  test("fails after its attempts, each of which is counted, while the others of its queue are done", async () => {
    const kernel = await processes.kernel();
    let isOver = false;
    /** Workers that are started anew whenever they die, as a supervisor does. */
    const supervisors = [1, 2, 3].map(async () => {
      while (!isOver) {
        const worker = processes.worker({ behaviour: "abort", url: kernel.url });
        await worker.exit;
      }
    });
    const client = connected(kernel.url);
    const poison = await client.start(job, "poison");
    const others = await Promise.all(
      Array.from({ length: 12 }, (_, number) => client.start(job, `harmless ${number}`)),
    );

    const failure: unknown = await poison.result().catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: "PAWL_RUN_FAILED",
      failure: { cause: { kind: "LeaseExpired" } },
    });
    for (const [number, run] of others.entries()) {
      expect(await run.result()).toBe(`harmless ${number}`);
    }
    const main = await poison.task("main");
    expect(main).toMatchObject({ attempt: 3, attemptsLeft: 0, leaseVersion: 3 });
    const history: string[] = [];
    for await (const { type, detail, attempt } of poison.watch()) {
      if (type === "TaskLeased") history.push(`${type} ${attempt}`);
      if (type === "LeaseEnded") history.push(`${type} ${/\((.*)\)/.exec(detail)?.[1]}`);
    }
    expect(history).toEqual([
      "TaskLeased 1",
      "LeaseEnded expired",
      "TaskLeased 2",
      "LeaseEnded expired",
      "TaskLeased 3",
      "LeaseEnded expired",
    ]);
    const report = await client.api.runs.getRecoveryReport({ runId: poison.runId });
    expect(report.lines).toMatchObject([
      {
        class: RecoveryClass.RETRIED,
        task: "main",
        sentence: expect.stringMatching(/^It took 3 attempts; now it is FAILED\./),
      },
    ]);
    isOver = true;
    await processes.end();
    await Promise.all(supervisors);
  });
});

describe("a task that kills every worker in its first statement", () => {
  test("goes to a person after as many losses as its policy says, though it dies in its first statement", async () => {
    const kernel = await processes.kernel();
    let isOver = false;
    let deaths = 0;
    const supervisors = [1, 2].map(async () => {
      while (!isOver) {
        const worker = processes.worker({ behaviour: "abort-at-once", url: kernel.url });
        await worker.exit;
        deaths += isOver ? 0 : 1;
      }
    });
    const client = connected(kernel.url);
    const poison = await client.start(riskyJob, "poison");
    const harmless = await client.start(riskyJob, "harmless");
    const { reviews } = client.api;
    await expect
      .poll(async () => (await reviews.listReviews({})).reviews.length, { timeout: 45_000 })
      .toBe(1);
    expect(await harmless.result()).toBe("harmless");
    // Its first death may come before the acknowledgement has left, and uses no attempt then; no later one does.
    expect(deaths).toBeGreaterThanOrEqual(3);
    expect(deaths).toBeLessThanOrEqual(4);
    const [review] = (await reviews.listReviews({})).reviews;
    expect(review).toMatchObject({
      runId: poison.runId,
      task: "main",
      subject: ReviewSubject.TASK,
      attempts: 3,
      failures: [1, 2, 3].map((attempt) => ({
        attempt,
        worker: "abort-at-once",
        kind: "LeaseExpired",
      })),
    });
    expect((await poison.get()).why).toBe(
      'Task "main" waits for a person: 3 attempts in a row lost their workers; resolve its review.',
    );
    await reviews.resolveReview({
      reviewId: review?.reviewId ?? "",
      expectedVersion: 1,
      choice: ReviewChoice.SKIP,
      reason: "it kills",
    });
    expect(await poison.result()).toBeUndefined();
    isOver = true;
    await processes.end();
    await Promise.all(supervisors);
  });
});

import { create } from "@bufbuild/protobuf";
import { StepRecordSchema } from "@pawl/proto/v1/worker_service_pb.js";
import { task } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { jsonPayload, textOf } from "./support/payloads.js";
import { offer, WorkerBench } from "./support/worker-bench.js";

let bench: WorkerBench;

beforeEach(async () => {
  bench = await WorkerBench.open();
});

afterEach(() => bench.close());

describe("steps", () => {
  test("give the recorded value without running, and record what is new behind no answer", async () => {
    const runs: string[] = [];
    const stepping = task("stepping").run(async (ctx) => {
      const a = await ctx.step("a", () => {
        runs.push("a");
        return { n: 1 };
      });
      const b = await ctx.step("b", { key: "k" }, () => {
        runs.push("b");
        return { n: a.n + 1, gone: undefined };
      });
      return { a, b, hasGone: "gone" in b };
    });
    const { work } = await bench.start([stepping]);
    work.send({
      offers: [
        {
          ...offer({ kind: "stepping" }),
          steps: [
            create(StepRecordSchema, { name: "a", value: jsonPayload('{"n":41}'), number: 5 }),
          ],
          seenThrough: 9,
        },
      ],
    });
    const message = await work.until((request) =>
      request.reports.length > 0 ? request : undefined,
    );
    expect(runs).toEqual(["b"]);
    expect(message.steps).toMatchObject([
      { name: "b", key: "k", seenThrough: 9, read: false, handle: 1, leaseVersion: 7 },
    ]);
    const report = message.reports[0];
    // The value handed back is the decoded record: what JSON drops is gone the first time too.
    expect(report?.outcome.case === "output" ? textOf(report.outcome.value) : undefined).toBe(
      '{"a":{"n":41},"b":{"n":42},"hasGone":false}',
    );
  });

  test("refuse the same name twice, and a ctx call inside a step", async () => {
    const errors: unknown[] = [];
    const wrong = task("wrong").run(async (ctx) => {
      await ctx.step("same", () => 1);
      await ctx.step("same", () => 2).catch((error: unknown) => errors.push(error));
      await ctx
        .step("outer", async () => {
          await ctx.step("inner", () => 1);
          return 1;
        })
        .catch((error: unknown) => errors.push(error));
      return null;
    });
    const { work } = await bench.start([wrong]);
    work.send({ offers: [offer({ kind: "wrong" })] });
    await work.until((request) => request.reports[0]);
    expect(errors).toMatchObject([
      { code: "PAWL_NAME_USED_TWICE" },
      { code: "PAWL_CALL_INSIDE_STEP" },
    ]);
    expect(String(errors[0])).toMatch(/worker-steps\.test\.ts.*worker-steps\.test\.ts/);
  });

  test("returning while a ctx call is open is refused with its name", async () => {
    const hasty = task("hasty").run(async (ctx) => {
      void ctx.step("left-open", () => new Promise<number>(() => undefined));
      return 1;
    });
    const { work } = await bench.start([hasty]);
    work.send({ offers: [offer({ kind: "hasty" })] });
    const report = await work.until((request) => request.reports[0]);
    const failure = report.outcome.case === "failure" ? report.outcome.value : undefined;
    expect(failure?.code).toBe("PAWL_OPEN_CALLS");
    expect(failure?.message).toContain("left-open");
  });
});

test("a name used twice late in a long loop is refused with the place of its second use", async () => {
  const errors: unknown[] = [];
  const long = task("long").run(async (ctx) => {
    for (let step = 1; step <= 1_001; step++) await ctx.step("s", { key: `${step}` }, () => step);
    await ctx.step("s", { key: "1001" }, () => 1).catch((error: unknown) => errors.push(error));
    await ctx.step("s", { key: "1" }, () => 1).catch((error: unknown) => errors.push(error));
    return null;
  });
  const { work } = await bench.start([long]);
  work.send({ offers: [offer({ kind: "long" })] });
  await work.until((request) => request.reports[0]);
  expect(errors).toMatchObject([
    { code: "PAWL_NAME_USED_TWICE" },
    { code: "PAWL_NAME_USED_TWICE" },
  ]);
  expect(String(errors[0])).toMatch(
    /first at a place that was not kept, then .*worker-steps\.test/,
  );
  expect(String(errors[1])).toMatch(/first .*worker-steps\.test.*, then .*worker-steps\.test/);
});

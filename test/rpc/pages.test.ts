import { toBinary } from "@bufbuild/protobuf";
import { ListRunsResponseSchema, RunService } from "@pawl/proto/v1/run_service_pb.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { oneTask } from "./support/fixtures.js";
import { openTestServer, type TestServer } from "./support/test-server.js";

const { method: run } = RunService;

/** Together their rows take more than a page may. */
const RUNS = 200;
const labels = Array.from({ length: 32 }, (_, number) => ({
  key: `${number}`.padStart(2, "0"),
  value: "x".repeat(200),
}));

let server: TestServer;

beforeAll(async () => {
  server = await openTestServer();
  const { results } = await server.grpc.unary(run.startRuns, {
    runs: Array.from({ length: RUNS }, (_, number) => oneTask(`r${number}`, "nobody", { labels })),
  });
  expect(results.map(({ rejection }) => rejection)).toEqual(Array(RUNS).fill(undefined));
});
afterAll(async () => {
  await server.close();
  expect(server.faults).toEqual([]);
});

test.each(["grpc", "json"] as const)(
  "a page ends before it takes more than 1 MiB, however many rows are asked for, over %s",
  async (protocol) => {
    const listed: string[] = [];
    const rows: number[] = [];
    let pageToken = "";
    do {
      const page = await server[protocol].unary(run.listRuns, { pageSize: 1_000, pageToken });
      expect(toBinary(ListRunsResponseSchema, page).length).toBeLessThan(1.01 * 1_048_576);
      listed.push(...page.runs.map(({ runId }) => runId));
      rows.push(page.runs.length);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(listed).toEqual(Array.from({ length: RUNS }, (_, number) => `r${RUNS - 1 - number}`));
    expect(rows).toHaveLength(2);
    expect(rows[0]).toBeGreaterThan(RUNS / 2);
  },
);

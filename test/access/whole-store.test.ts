import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { oneTask } from "../rpc/support/fixtures.js";
import { override } from "../rpc/support/refusing-kernel.js";
import { type GuardedServer, openGuardedServer } from "./support.js";

const { method: admin } = AdminService;

const finding = {
  stage: "rows",
  message: 'Expected the row of "secret-run", but it is damaged.',
  runNumber: 7,
  firstBadSequence: 0,
  key: "100000",
  foundAtMs: 1,
};

let server: GuardedServer;
const tokens = new Map<string, string>();

beforeAll(async () => {
  server = await openGuardedServer({
    before: (kernel) =>
      override(kernel, {
        info: () => ({
          ...kernel.info(),
          scrub: { rounds: 1, lastRoundAtMs: 1, bytes: 9, findings: [finding] },
        }),
      }),
  });
  server.metrics.watchKernel(() => server.kernel.gauges());
  const holders = [
    ["root", "*", "admin"],
    ["keeper", "*", "operator"],
    ["reader", "*", "client"],
    ["ours", "ours", "client"],
    ["theirs", "theirs", "operator"],
  ] as const;
  for (const [name, namespace, role] of holders) {
    tokens.set(name, (await server.mint(name, [{ namespace, roles: [role] }])).token);
  }
  const root = server.grpcWith(tokens.get("root"));
  await root.unary(admin.createNamespace, { name: "ours" });
  await root.unary(admin.createNamespace, { name: "theirs" });
  await server.grpcWith(tokens.get("ours")).unary(RunService.method.startRuns, {
    namespace: "ours",
    runs: [oneTask("secret-run", "secret-kind")],
  });
});
afterAll(async () => {
  await server.close();
  expect(server.faults).toEqual([]);
});

async function metricsOf(name: string): Promise<string> {
  const authorization = `Bearer ${tokens.get(name)}`;
  const answer = await server.jsonWith().fetch("/metrics", { headers: { authorization } });
  expect(answer.status).toBe(200);
  return answer.text();
}

describe("/metrics", () => {
  test.each(["root", "keeper", "reader", "ours"])(
    "names to %s a queue of a namespace in which it has a role",
    async (name) => {
      expect(await metricsOf(name)).toContain(
        'pawl_queue_ready_tasks{namespace="ours",queue="secret-kind",kind="secret-kind"} 1',
      );
    },
  );

  test("names to others neither the namespace nor its queue, and counts all the same", async () => {
    const text = await metricsOf("theirs");
    expect(text).not.toContain("ours");
    expect(text).not.toContain("secret");
    expect(text).toContain("pawl_open_runs 1");
  });

  test("tells nothing to nobody", async () => {
    const answer = await server.jsonWith().fetch("/metrics");
    expect(answer.status).toBe(401);
    expect(await answer.text()).not.toContain("pawl_");
  });
});

describe("GetServerInfo", () => {
  test.each(["root", "keeper"])("tells %s what was found damaged", async (name) => {
    for (const client of [server.grpcWith(tokens.get(name)), server.jsonWith(tokens.get(name))]) {
      const { scrub } = await client.unary(admin.getServerInfo, {});
      expect(scrub?.findingCount).toBe(1);
      expect(scrub?.findings).toMatchObject([{ message: finding.message, runNumber: 7n }]);
    }
  });

  test.each(["reader", "ours", "theirs"])("tells %s how much was found alone", async (name) => {
    for (const client of [server.grpcWith(tokens.get(name)), server.jsonWith(tokens.get(name))]) {
      const { scrub } = await client.unary(admin.getServerInfo, {});
      expect(scrub?.findingCount).toBe(1);
      expect(scrub?.findings).toEqual([]);
    }
  });
});

import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { createLog, type Log } from "@pawl/server/observe/log.js";
import { RefusalLog, refusalEveryMs } from "@pawl/server/rpc/access/refusal-log.js";
import { describe, expect, test } from "vitest";
import { openGuardedServer } from "./support.js";

function readable(): { readonly log: Log; readonly told: () => Record<string, unknown>[] } {
  const lines: string[] = [];
  const log = createLog({ write: (line) => lines.push(line) });
  return { log, told: () => lines.map((line) => JSON.parse(line)) };
}

test("who is refused is named with method, namespace and reason, and never by a credential", async () => {
  const { log, told } = readable();
  const server = await openGuardedServer({ log });
  try {
    const root = await server.mint("root", [{ namespace: "*", roles: ["admin"] }]);
    await server.grpcWith(root.token).unary(AdminService.method.createNamespace, { name: "ours" });
    const reader = await server.mint("reader", [{ namespace: "ours", roles: ["approver"] }]);
    const wrong = `${reader.token.slice(0, -4)}AAAA`;
    const before = told().length;
    const { startRuns, listRuns } = RunService.method;
    for (const client of [server.grpcWith(reader.token), server.jsonWith(reader.token)]) {
      await expect(client.unary(startRuns, { namespace: "ours", runs: [] })).rejects.toThrow();
      await expect(client.unary(listRuns, { namespace: "theirs" })).rejects.toThrow();
    }
    await expect(server.grpcWith(wrong).unary(listRuns, {})).rejects.toThrow();
    await expect(server.jsonWith().unary(listRuns, {})).rejects.toThrow();
    const lines = told().slice(before);
    expect(lines).toMatchObject([
      {
        level: "warn",
        message: "A call was refused",
        principal: "reader",
        where: "pawl.v1.RunService/StartRuns",
        namespace: "ours",
        reason: "PAWL_PERMISSION_DENIED",
      },
      { principal: "reader", namespace: "theirs", reason: "PAWL_NAMESPACE_NOT_FOUND" },
      { where: "pawl.v1.RunService/ListRuns", reason: "PAWL_UNAUTHENTICATED" },
    ]);
    expect(lines[2]).not.toHaveProperty("principal");
    const text = JSON.stringify(lines);
    for (const token of [reader.token, wrong, root.token]) {
      expect(text).not.toContain(token.slice(-20));
    }
  } finally {
    await server.close();
  }
});

describe("the log of refusals", () => {
  const refusal = {
    principal: "reader",
    method: "pawl.v1.RunService/StartRuns",
    namespace: "ours",
    rejection: { reason: "PAWL_PERMISSION_DENIED", message: "no" },
  } as const;

  test("tells the same once a minute, then with how often it happened", () => {
    const { log, told } = readable();
    let nowMs = 0;
    const refusals = new RefusalLog(log, () => nowMs);
    for (let call = 0; call < 1000; call++) refusals.refused(refusal);
    expect(told()).toHaveLength(1);
    nowMs = refusalEveryMs;
    refusals.refused(refusal);
    expect(told()).toHaveLength(2);
    expect(told()[1]).toMatchObject({ count: 1000 });
  });

  test("cannot be filled by whoever names ever other namespaces", () => {
    const { log, told } = readable();
    const refusals = new RefusalLog(log, () => 0);
    for (let call = 0; call < 5000; call++) {
      refusals.refused({ ...refusal, namespace: `${call}-${"x".repeat(5000)}` });
    }
    expect(told()).toHaveLength(100);
    expect(String(told()[0]?.["namespace"]).length).toBe(200);
  });
});

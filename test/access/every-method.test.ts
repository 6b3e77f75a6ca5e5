import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { Health } from "@pawl/proto/grpc/health/v1/health_pb.js";
import { ServerReflection } from "@pawl/proto/grpc/reflection/v1/reflection_pb.js";
import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { ApprovalService } from "@pawl/proto/v1/approval_service_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codeAndReason } from "../rpc/support/refusal.js";
import { callAny } from "./call-any.js";
import { type GuardedServer, openGuardedServer } from "./support.js";

/** Who may call what, by hand: w worker, c client, a approver, o operator, d admin. */
const mayCall: Readonly<Record<string, string>> = {
  Submit: "c",
  StartRuns: "c",
  StartAndAwait: "c",
  GetRun: "caod",
  ListRuns: "caod",
  GetTask: "caod",
  ListTasks: "caod",
  GetResult: "caod",
  AwaitResults: "caod",
  WatchRun: "caod",
  WatchRuns: "caod",
  ReadOutput: "caod",
  CancelRun: "cod",
  RewindRun: "od",
  RetryRun: "od",
  TerminateRun: "od",
  DeleteRun: "od",
  PauseRun: "od",
  ResumeRun: "od",
  ChangeTask: "od",
  RevisePlan: "cod",
  GetPlan: "caod",
  ListPlanVersions: "caod",
  DiffPlans: "caod",
  SendSignal: "cod",
  UpdateRun: "cod",
  GetUpdate: "caod",
  QueryRun: "caod",
  ListQueries: "caod",
  ProvideInput: "caod",
  GetInput: "caod",
  ListInputs: "caod",
  GetHistory: "caod",
  ExportRuns: "caod",
  GetRecoveryReport: "caod",
  ReadBlob: "wcaod",
  Work: "w",
  ClaimTasks: "w",
  ReportOutputs: "w",
  RenewLeases: "w",
  RecordSteps: "w",
  RecordObligations: "w",
  StartChildren: "w",
  GetRecords: "w",
  CallTasks: "w",
  DeclareWaits: "w",
  ProposeRevision: "w",
  Suspend: "w",
  ReleaseTask: "w",
  ReportProgress: "w",
  EmitOutput: "w",
  IntendOperation: "wc",
  ObserveOperation: "wc",
  ReconcileOperation: "wc",
  GetOperation: "wcaod",
  ListOperations: "caod",
  ProposeAction: "wc",
  DecideProposal: "a",
  WithdrawProposal: "wcod",
  // The proposal itself says who of them: its deciders, its requester, an operator.
  RevokeApproval: "wcaod",
  AwaitApproval: "wcaod",
  GetProposal: "wcaod",
  ListProposals: "caod",
  WatchProposals: "caod",
  ListReviews: "caod",
  GetReview: "caod",
  WatchReviews: "caod",
  ResolveReview: "od",
  GetServerInfo: "wcaod",
  // In every namespace only: these tokens are of one.
  CreateNamespace: "",
  ListNamespaces: "wcaod",
  ListStarts: "wcaod",
  GetStartReport: "caod",
  SetCurrentVersion: "od",
  RemoveCurrentVersion: "od",
  GetCurrentVersion: "caod",
  ListCurrentVersions: "caod",
  SetCredentialPolicy: "d",
  GetCredentialPolicy: "wcaod",
  GetRetention: "caod",
  SetRetention: "d",
  SetLegalHold: "d",
};

const roles = { w: "worker", c: "client", a: "approver", o: "operator", d: "admin" } as const;

const services: readonly DescService[] = [
  RunService,
  WorkerService,
  OperationService,
  ApprovalService,
  ReviewService,
  AdminService,
];
const methods: readonly DescMethod[] = services.flatMap((service) => service.methods);
const actsOnNothing = ["GetServerInfo", "ListStarts", "ListNamespaces", "CreateNamespace"];

let server: GuardedServer;
const tokens: Record<string, string> = {};

beforeAll(async () => {
  server = await openGuardedServer();
  await server.kernel.createNamespace("other", {
    principal: "ann",
    roles: [],
    authenticated: true,
  });
  for (const [letter, role] of Object.entries(roles)) {
    const grants = [{ namespace: "default", roles: [role] }];
    tokens[letter] = (await server.mint(`the-${role}`, grants)).token;
  }
});
afterAll(async () => {
  await server.close();
  expect(server.faults).toEqual([]);
});

test("the table by hand names every method", () => {
  expect(Object.keys(mayCall).toSorted()).toEqual(methods.map(({ name }) => name).toSorted());
});

describe.each(["grpc", "json"] as const)("over %s", (protocol) => {
  const client = (token?: string) =>
    protocol === "grpc" ? server.grpcWith(token) : server.jsonWith(token);
  const served = methods.filter(
    ({ methodKind }) => protocol === "grpc" || methodKind !== "bidi_streaming",
  );

  describe.each(Object.entries(roles))("a token of role %s (%s)", (letter) => {
    test.each(served.map((method) => [method.name, method] as const))(
      "%s",
      async (name, method) => {
        const said = codeAndReason(await callAny(client(tokens[letter]), method, "default"));
        const isDenied = said === "PERMISSION_DENIED PAWL_PERMISSION_DENIED";
        expect(isDenied).toBe(!(mayCall[name] ?? "").includes(letter));
        expect(said).not.toContain("UNAUTHENTICATED");
      },
    );

    const within = served.filter(({ name }) => !actsOnNothing.includes(name));
    test.each(within.map((method) => [method.name, method] as const))(
      "%s in a namespace of others is answered as in one that is not there",
      async (_name, method) => {
        const answers = await Promise.all(
          ["other", "nowhere"].map(async (namespace) => {
            const refusal = await callAny(client(tokens[letter]), method, namespace);
            expect(codeAndReason(refusal)).toBe("NOT_FOUND PAWL_NAMESPACE_NOT_FOUND");
            return JSON.stringify([refusal?.message, refusal?.rejection]).replaceAll(
              namespace,
              "…",
            );
          }),
        );
        expect(answers[0]).toBe(answers[1]);
      },
    );
  });

  test.each(served.map((method) => [method.name, method] as const))(
    "%s without a token is refused",
    async (_name, method) => {
      const refusal = await callAny(client(), method, "default");
      expect(codeAndReason(refusal)).toBe("UNAUTHENTICATED PAWL_UNAUTHENTICATED");
    },
  );

  test("a role in every namespace opens what acts on the whole kernel", async () => {
    const all = await server.mint(`root-${protocol}`, [{ namespace: "*", roles: ["admin"] }]);
    const name = `made-over-${protocol}`;
    const made = await client(all.token).unary(AdminService.method.createNamespace, { name });
    expect(made).toMatchObject({
      existing: false,
      namespace: { name, createdBy: `root-${protocol}` },
    });
    const again = await client(all.token).unary(AdminService.method.createNamespace, { name });
    expect(again).toMatchObject({ existing: true, namespace: { createdBy: `root-${protocol}` } });
  });

  test("whoever asks is told only of its own namespaces", async () => {
    const mixed = await server.mint(`mixed-${protocol}`, [
      { namespace: "other", roles: ["client"] },
      { namespace: "not-yet", roles: ["client"] },
    ]);
    const list = async (token: string | undefined): Promise<string[]> => {
      const { namespaces } = await client(token).unary(AdminService.method.listNamespaces, {});
      return namespaces.map(({ name }) => name);
    };
    expect(await list(mixed.token)).toEqual(["other"]);
    expect(await list(tokens["w"])).toEqual(["default"]);
  });

  test("health needs no token", async () => {
    expect(await client().unary(Health.method.check, {})).toMatchObject({ status: 1 });
  });
});

test("reflection needs a token, of whatever role", async () => {
  const method = ServerReflection.method.serverReflectionInfo;
  const request = { messageRequest: { case: "listServices", value: "" } } as const;
  const without = server.grpcWith().duplex(method);
  without.send(request);
  expect(codeAndReason(await without.ended())).toBe("UNAUTHENTICATED PAWL_UNAUTHENTICATED");
  const withOne = server.grpcWith(tokens["w"]).duplex(method);
  withOne.send(request);
  expect((await withOne.next()).messageResponse.case).toBe("listServicesResponse");
  withOne.end();
});

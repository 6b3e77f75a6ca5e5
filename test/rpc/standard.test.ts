import { create, createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { Health, HealthCheckResponse_ServingStatus } from "@pawl/proto/grpc/health/v1/health_pb.js";
import { ServerReflection } from "@pawl/proto/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "@pawl/proto/grpc/reflection/v1alpha/reflection_pb.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Refusal } from "./support/refusal.js";
import { openTestServer, type TestServer } from "./support/test-server.js";

let server: TestServer;

beforeAll(async () => {
  server = await openTestServer();
});
afterAll(async () => {
  await server.close();
  expect(server.faults).toEqual([]);
});

const services = [
  "grpc.health.v1.Health",
  "grpc.reflection.v1.ServerReflection",
  "grpc.reflection.v1alpha.ServerReflection",
  "pawl.v1.AdminService",
  "pawl.v1.ApprovalService",
  "pawl.v1.OperationService",
  "pawl.v1.ReviewService",
  "pawl.v1.RunService",
  "pawl.v1.WorkerService",
];

describe.each(["grpc", "json"] as const)("health over %s", (protocol) => {
  test.each(["", "pawl.v1.RunService", "pawl.v1.WorkerService"])(
    'of "%s" is SERVING',
    async (service) => {
      const { status } = await server[protocol].unary(Health.method.check, { service });
      expect(status).toBe(HealthCheckResponse_ServingStatus.SERVING);
    },
  );

  test("of a service that is not there is NOT_FOUND", async () => {
    const error = await server[protocol]
      .unary(Health.method.check, { service: "none.Such" })
      .catch((thrown: unknown) => thrown);
    expect(error instanceof Refusal ? error.code : error).toBe("NOT_FOUND");
  });
});

/** The files in an order in which each comes after what it imports. */
function importsFirst(files: readonly Uint8Array[]): FileDescriptorProto[] {
  const left = files.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
  const sorted: FileDescriptorProto[] = [];
  while (left.length > 0) {
    const next = left.findIndex(({ dependency }) =>
      dependency.every((name) => sorted.some((done) => done.name === name)),
    );
    const [file] = left.splice(next, next < 0 ? 0 : 1);
    if (file === undefined) {
      throw new Error(`Expected all imports, but ${left[0]?.name} lacks one.`);
    }
    sorted.push(file);
  }
  return sorted;
}

const versions = { v1: ServerReflection, v1alpha: ServerReflectionAlpha };

describe.each(["v1", "v1alpha"] as const)("reflection %s", (version) => {
  const service = versions[version];

  async function ask(messageRequest: {
    case: "listServices" | "fileByFilename" | "fileContainingSymbol";
    value: string;
  }): Promise<{
    readonly case: string | undefined;
    readonly value: unknown;
    readonly files: Uint8Array[];
  }> {
    const stream = server.grpc.duplex(service.method.serverReflectionInfo);
    stream.send({ messageRequest });
    const { messageResponse } = await stream.next();
    stream.end();
    await stream.ended();
    const files =
      messageResponse.case === "fileDescriptorResponse"
        ? messageResponse.value.fileDescriptorProto
        : [];
    return { case: messageResponse.case, value: messageResponse.value, files };
  }

  test("lists every service", async () => {
    const { value } = await ask({ case: "listServices", value: "" });
    const { service: listed } = value as { service: { name: string }[] };
    expect(listed.map(({ name }) => name).sort()).toEqual(services);
  });

  test.each(services)("describes %s whole, so that a client can be made of it", async (name) => {
    const { files } = await ask({ case: "fileContainingSymbol", value: name });
    const registry = createFileRegistry(
      create(FileDescriptorSetSchema, { file: importsFirst(files) }),
    );
    expect(registry.getService(name)?.methods.length).toBeGreaterThan(0);
  });

  test.each([
    ["pawl.v1.RunService.Submit", "pawl/v1/run_service.proto"],
    ["pawl.v1.Offer", "pawl/v1/worker_service.proto"],
    [".pawl.v1.Payload", "pawl/v1/payload.proto"],
  ])("finds %s in %s", async (symbol, file) => {
    const { files } = await ask({ case: "fileContainingSymbol", value: symbol });
    const [first] = files;
    expect(first && fromBinary(FileDescriptorProtoSchema, first).name).toBe(file);
    const byName = await ask({ case: "fileByFilename", value: file });
    expect(byName.files.length).toBe(files.length);
  });

  test.each([
    { case: "fileContainingSymbol", value: "pawl.v1.Nothing" },
    { case: "fileByFilename", value: "nothing.proto" },
  ] as const)("answers what is not there by NOT_FOUND", async (request) => {
    expect(await ask(request)).toMatchObject({ case: "errorResponse", value: { errorCode: 5 } });
  });
});

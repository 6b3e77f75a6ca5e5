import { readdirSync } from "node:fs";
import type { DescService } from "@bufbuild/protobuf";
import { Health } from "@pawl/proto/grpc/health/v1/health_pb.js";
import { ServerReflection } from "@pawl/proto/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "@pawl/proto/grpc/reflection/v1alpha/reflection_pb.js";
import { accessTable } from "@pawl/server/access/access-table.js";
import { beforeAll, expect, test } from "vitest";

const protos = new URL("../../proto/pawl/v1/", import.meta.url);

/** Every service of the contract, whoever added it. */
async function readServices(): Promise<DescService[]> {
  const files = readdirSync(protos).filter((name) => name.endsWith("_service.proto"));
  const loaded = await Promise.all(
    files.map((name): Promise<object> => {
      const file = name.replace(/\.proto$/, "_pb.ts");
      return import(new URL(`../../proto/gen/pawl/v1/${file}`, import.meta.url).href);
    }),
  );
  return loaded.flatMap((module) => Object.values(module).filter(isService));
}

function isService(value: unknown): value is DescService {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "service";
}

let services: readonly DescService[];

beforeAll(async () => {
  services = [...(await readServices()), Health, ServerReflection, ServerReflectionAlpha];
});

test("every method has a row in server/src/access/access-table.ts, and every row a method", () => {
  const methods = services.flatMap(({ typeName, methods: own }) =>
    own.map(({ name }) => `${typeName}/${name}`),
  );
  expect(methods.length).toBeGreaterThan(35);
  expect(Object.keys(accessTable).toSorted()).toEqual(methods.toSorted());
});

test("a method that acts in a namespace says in which", () => {
  const streamed = ["Submit", "Work"]; // They say it in their first, or in each, message: see their messages.
  const silent = services
    .flatMap(({ methods: own }) => own)
    .filter(({ name, parent }) => {
      const row = accessTable[`${parent.typeName}/${name}`];
      return row?.scope === "namespace" && !streamed.includes(name);
    })
    .filter(({ input }) => input.field["namespace"]?.fieldKind !== "scalar")
    .map(({ name }) => name);
  expect(silent).toEqual([]);
});

test("a row with roles has a scope that asks for them", () => {
  for (const [name, { scope, roles }] of Object.entries(accessTable)) {
    expect([name, roles.length > 0]).toEqual([name, scope === "namespace" || scope === "kernel"]);
  }
});

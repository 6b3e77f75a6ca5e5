import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  create,
  type DescFile,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type CodeGeneratorRequest,
  CodeGeneratorRequestSchema,
  type CodeGeneratorResponse,
  CodeGeneratorResponseSchema,
  type DescriptorProtoSchema,
  type FieldDescriptorProtoSchema,
  FieldOptions_JSType,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  file_google_protobuf_struct,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { file_fixture } from "./fixtures/gen/fixture_pb.js";
import { file_shared_part } from "./fixtures/gen/shared/part_pb.js";

interface Plugin {
  run(request: CodeGeneratorRequest): CodeGeneratorResponse;
}

// Plain JavaScript without declarations: its type is said here.
const CODEGEN = new URL("../../proto/codegen/", import.meta.url);
const { plugin }: { plugin: Plugin } = await import(fileURLToPath(new URL("plugin.js", CODEGEN)));
const FIXTURES = new URL("fixtures/", import.meta.url);

describe("protoc-gen-pawl-wire", () => {
  it("makes the fixtures as they are committed", () => {
    const config = readFileSync(new URL("buf.gen.yaml", FIXTURES), "utf8");
    const options = [...config.matchAll(/^ {6}- (\S+=\S+)$/gm)].map(([, option]) => option);
    const request = requestOf(filesOf(file_fixture), options.join(","), [
      "fixture.proto",
      "shared/part.proto",
    ]);
    const files = contentOf(runAsProcess(request));
    expect(options.length).toBeGreaterThan(0);
    expect([...files.keys()].sort()).toEqual(["fixture_wire.ts", "shared/part_wire.ts"]);
    for (const [name, content] of files) {
      expect(content).toBe(readFileSync(new URL(`gen/${name}`, FIXTURES), "utf8"));
    }
  });

  it("takes the messages named and those they hold, and no others", () => {
    const { files } = run(filesOf(file_fixture), "message=fixture.Envelope,opaque=fixture.Secret");
    expect(shapesIn(files)).toEqual(["EnvelopeShape", "PartShape"]);
  });

  it("takes the messages of a path or of a package", () => {
    for (const only of ["shared", "shared/part.proto", "fixture.shared"]) {
      expect(shapesIn(run(filesOf(file_fixture), `only=${only}`).files)).toEqual([
        "PartShape",
        "UnusedShape",
      ]);
    }
  });

  it("takes everything without a filter", () => {
    const { files } = run(filesOf(file_shared_part), "");
    expect(shapesIn(files)).toEqual(["PartShape", "UnusedShape"]);
  });

  it("imports the runtime from beside the output folder by default", () => {
    const [content] = run(filesOf(file_shared_part), "").files.values();
    expect(content).toContain('from "../../wire/writer.js"');
  });

  it.each([
    ["an unknown option", "opaqe=fixture.Secret", "opaqe"],
    ["an option without a value", "message", "message"],
    ["an opaque type that is not there", "opaque=fixture.Nothing", "opaque=fixture.Nothing"],
    ["a message that is not there", "message=fixture.Nothing", "message=fixture.Nothing"],
    ["a path that is not there", "only=share", "only=share"],
  ])("refuses %s", (_, parameter, named) => {
    expect(run(filesOf(file_fixture), parameter).refusal).toContain(named);
  });
});

describe("protoc-gen-pawl-wire, given what it cannot encode,", () => {
  it("refuses a map", () => {
    const labels = {
      ...field("labels", 1, Type.MESSAGE),
      label: Label.REPEATED,
      typeName: ".bad.Bad.LabelsEntry",
    };
    const entry = {
      name: "LabelsEntry",
      options: { mapEntry: true },
      field: [field("key", 1, Type.STRING), field("value", 2, Type.STRING)],
    };
    expect(run([badFile(labels, [entry])], "").refusal).toMatch(/labels.*no map/);
  });

  it("refuses 64-bit integers that protobuf-es holds as strings", () => {
    const options = { jstype: FieldOptions_JSType.JS_STRING };
    expect(run([badFile({ ...field("size", 1, Type.INT64), options })], "").refusal).toMatch(
      /size.*JS_STRING/,
    );
  });

  it("refuses proto2", () => {
    const file = badFile(field("x", 1, Type.BOOL));
    file.syntax = "proto2";
    expect(run([file], "").refusal).toMatch(/bad\.Bad.*proto3/);
  });

  it("refuses well-known types that protobuf-es holds in another shape", () => {
    const file = badFile({ ...field("x", 1, Type.MESSAGE), typeName: ".google.protobuf.Struct" });
    file.dependency.push("google/protobuf/struct.proto");
    const files = [...filesOf(file_google_protobuf_struct), file];
    expect(run(files, "", ["bad.proto"]).refusal).toMatch(/google\.protobuf\.Struct.*opaque/);
  });

  it("refuses to leave out a message whose file it was not given", () => {
    const { refusal } = run(filesOf(file_fixture), "", ["fixture.proto"]);
    expect(refusal).toMatch(/fixture\.shared\.Part.*strategy: all/);
  });
});

interface Outcome {
  readonly files: ReadonlyMap<string, string>;
  /** What it said when it refused; otherwise empty. */
  readonly refusal: string;
}

function run(
  protoFile: readonly FileDescriptorProto[],
  parameter: string,
  fileToGenerate: readonly string[] = protoFile
    .map((file) => file.name)
    .filter((name) => !name.startsWith("google/")),
): Outcome {
  const request = requestOf(protoFile, parameter, fileToGenerate);
  try {
    return { files: contentOf(plugin.run(request)), refusal: "" };
  } catch (error) {
    return { files: new Map(), refusal: String(error) };
  }
}

/** As buf and protoc run it. */
function runAsProcess(request: CodeGeneratorRequest): CodeGeneratorResponse {
  const program = fileURLToPath(new URL("protoc-gen-pawl-wire.mjs", CODEGEN));
  const { stdout } = spawnSync(process.execPath, [program], {
    input: toBinary(CodeGeneratorRequestSchema, request),
  });
  return fromBinary(CodeGeneratorResponseSchema, stdout);
}

function requestOf(
  protoFile: readonly FileDescriptorProto[],
  parameter: string,
  fileToGenerate: readonly string[],
): CodeGeneratorRequest {
  return create(CodeGeneratorRequestSchema, {
    parameter,
    protoFile: [...protoFile],
    fileToGenerate: [...fileToGenerate],
  });
}

function contentOf({ file }: CodeGeneratorResponse): Map<string, string> {
  return new Map(file.map(({ name, content }) => [name, content]));
}

/** A file and what it imports, imports first. */
function filesOf(file: DescFile): FileDescriptorProto[] {
  const files = new Map<string, FileDescriptorProto>();
  const add = (each: DescFile): void => {
    each.dependencies.forEach(add);
    files.set(each.name, each.proto);
  };
  add(file);
  return [...files.values()];
}

function shapesIn(files: ReadonlyMap<string, string>): string[] {
  return [...files.values()]
    .flatMap((content) => [...content.matchAll(/^export interface (\w+)/gm)])
    .map(([, name]) => name ?? "")
    .sort();
}

type FieldInit = Exclude<
  MessageInitShape<typeof FieldDescriptorProtoSchema>,
  { $typeName: string }
>;
type MessageInit = MessageInitShape<typeof DescriptorProtoSchema>;

function field(name: string, number: number, type: Type): FieldInit {
  return { name, number, type, label: Label.OPTIONAL, jsonName: name };
}

/** A file with one message of one field, and the messages declared inside it. */
function badFile(only: FieldInit, nestedType: MessageInit[] = []): FileDescriptorProto {
  return create(FileDescriptorProtoSchema, {
    name: "bad.proto",
    package: "bad",
    syntax: "proto3",
    messageType: [{ name: "Bad", field: [only], nestedType }],
  });
}

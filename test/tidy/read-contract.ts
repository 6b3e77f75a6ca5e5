import { readdirSync, readFileSync } from "node:fs";
import type { DescMessage, DescMethod, DescService } from "@bufbuild/protobuf";

const protos = new URL("../../proto/pawl/v1/", import.meta.url);

/** Every service of the contract, whoever added it. */
export async function readServices(): Promise<DescService[]> {
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

/** Comments of the contract, which generated code does not carry. */
export interface ContractComments {
  /** By name of the method. */
  readonly methods: ReadonlyMap<string, string>;
  /** By `Message.field`, of messages that lie in no other. */
  readonly fields: ReadonlyMap<string, string>;
}

/** Reads them from the .proto files, each as one line. */
export function readComments(): ContractComments {
  const methods = new Map<string, string>();
  const fields = new Map<string, string>();
  for (const name of readdirSync(protos).filter((file) => file.endsWith(".proto"))) {
    const text = readFileSync(new URL(name, protos), "utf8");
    for (const [, comment = "", method = ""] of text.matchAll(
      /((?:^ *\/\/.*\n)+) *rpc (\w+)\(/gm,
    )) {
      methods.set(method, toLine(comment));
    }
    for (const [, message = "", body = ""] of text.matchAll(/^message (\w+) \{\n(.*?)^\}/gms)) {
      for (const [, comment = "", field = ""] of body.matchAll(
        /((?:^ *\/\/.*\n)+) *(?:optional |repeated )?[\w.]+ (\w+) = \d+/gm,
      )) {
        fields.set(`${message}.${field}`, toLine(comment));
      }
    }
  }
  return { methods, fields };
}

function toLine(comment: string): string {
  return comment
    .replaceAll(/^ *\/\/ ?/gm, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** What a method takes one or many of: its request, or the message that its request repeats beside its namespace. */
export function subjectOf({ input }: DescMethod): DescMessage {
  const own = input.fields.filter(({ name }) => name !== "namespace");
  const [only, ...others] = own;
  return only?.fieldKind === "list" && only.listKind === "message" && others.length === 0
    ? only.message
    : input;
}

/** Messages by which another names the lease under which it acts. */
const leases = ["LeaseRef", "OperationHolder"];

/** Names of the fields of a message, and of the lease that it names. */
export function fieldsOf(message: DescMessage): readonly string[] {
  return message.fields.flatMap((field) =>
    field.fieldKind === "message" && leases.includes(field.message.name)
      ? [field.name, ...field.message.fields.map(({ name }) => name)]
      : [field.name],
  );
}

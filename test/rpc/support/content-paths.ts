import { create, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { PayloadSchema } from "@pawl/proto/v1/payload_pb.js";

/** A place of a request in which a caller may write. */
export interface ContentPath {
  /** As the contract names its fields, for example `run.plan.tasks.input`. */
  readonly path: string;
  /** A request with this text there, and nothing else. */
  readonly make: (text: string) => Message;
}

/** Opaque to everyone but their maker, or names of which only a few are there. */
const closed = new Set(["page_token", "traceparent", "namespace"]);

/** Every text and every payload of a message, however deep; of a message that holds itself, the first two. */
export function contentPathsOf(desc: DescMessage, within: readonly string[] = []): ContentPath[] {
  if (desc.typeName === PayloadSchema.typeName) {
    const make = (text: string): Message =>
      create(PayloadSchema, {
        contentType: "application/json",
        body: { case: "data", value: Buffer.from(JSON.stringify({ deep: [text] })) },
      });
    return [{ path: "", make }];
  }
  return desc.fields.flatMap((field) => {
    const isAgain = within.filter((name) => name === field.message?.typeName).length > 1;
    if (closed.has(field.name) || field.name === "digest" || isAgain) return [];
    if (field.message !== undefined) {
      return field.message.typeName.startsWith("pawl.v1.")
        ? contentPathsOf(field.message, [...within, field.message.typeName]).map((inner) => ({
            path: inner.path === "" ? field.name : `${field.name}.${inner.path}`,
            make: (text: string) => withField(desc, field, inner.make(text)),
          }))
        : [];
    }
    return field.scalar === 9
      ? [{ path: field.name, make: (text: string) => withField(desc, field, text) }]
      : [];
  });
}

function withField(desc: DescMessage, field: DescField, value: unknown): Message {
  const message = create(desc);
  const whole = field.fieldKind === "list" ? [value] : value;
  if (field.oneof === undefined) {
    Reflect.set(message, field.localName, whole);
  } else {
    Reflect.set(message, field.oneof.localName, { case: field.localName, value: whole });
  }
  return message;
}

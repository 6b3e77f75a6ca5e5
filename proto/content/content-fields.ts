import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { FailureSchema } from "../gen/pawl/v1/failure_pb.js";
import { ObservationSchema, ReconciliationSchema } from "../gen/pawl/v1/operation_pb.js";
import { PayloadSchema } from "../gen/pawl/v1/payload_pb.js";
import {
  EmitItemSchema,
  ProgressItemSchema,
  ReportProgressRequestSchema,
} from "../gen/pawl/v1/worker_service_pb.js";

/** A field of a message in which a credential could be. */
export type ContentField =
  /** Prose, or a name: `isProse` is what may be redacted without becoming another thing. */
  | { readonly kind: "text"; readonly field: DescField; readonly isProse: boolean }
  | { readonly kind: "texts"; readonly field: DescField }
  | {
      readonly kind: "message" | "messages";
      readonly field: DescField;
      readonly message: DescMessage;
    };

/** What tells what has happened: a credential in it is redacted rather than refused, so that nothing that has happened is lost. */
const tellsWhatHappened: ReadonlySet<string> = new Set([
  ...[FailureSchema, ObservationSchema, ReconciliationSchema].map(({ typeName }) => typeName),
  ...[ProgressItemSchema, EmitItemSchema].map(({ typeName }) => typeName),
  ReportProgressRequestSchema.typeName,
]);

/** Texts that people write for people. */
const prose: ReadonlySet<string> = new Set([
  ...["reason", "message", "stack", "declined", "question", "title", "note"],
  ...["pawl.v1.DisplayField.label", "pawl.v1.DisplayField.value", "pawl.v1.Label.value"],
]);

/** Opaque to everyone but their maker, or checked to be names of a few letters. */
const neverContent: ReadonlySet<string> = new Set(["page_token", "traceparent", "namespace"]);

const known = new Map<string, readonly ContentField[]>();

/** The fields of a message in which a credential could be; a payload has none: it is judged as a whole. */
export function contentFieldsOf(desc: DescMessage): readonly ContentField[] {
  let fields = known.get(desc.typeName);
  if (fields === undefined) {
    // A message may hold itself: what is known of it then is looked up when it is read.
    fields = desc.typeName === PayloadSchema.typeName ? [] : desc.fields.flatMap(contentFieldOf);
    known.set(desc.typeName, fields);
  }
  return fields;
}

function contentFieldOf(field: DescField): readonly ContentField[] {
  if (field.name === "digest" || neverContent.has(field.name)) {
    return [];
  }
  if (field.message !== undefined) {
    const kind = field.fieldKind === "list" ? "messages" : "message";
    return isOurs(field.message) ? [{ kind, field, message: field.message }] : [];
  }
  if (field.scalar !== ScalarType.STRING) {
    return [];
  }
  const isProse =
    prose.has(field.name) ||
    prose.has(`${field.parent.typeName}.${field.name}`) ||
    field.parent.typeName === FailureSchema.typeName;
  return [field.fieldKind === "list" ? { kind: "texts", field } : { kind: "text", field, isProse }];
}

function isOurs({ typeName }: DescMessage): boolean {
  return typeName.startsWith("pawl.v1.");
}

/** True for a message in which a credential is redacted even where it is refused elsewhere. */
export function isAlwaysRedacted({ typeName }: DescMessage): boolean {
  return tellsWhatHappened.has(typeName);
}

/** Where a field's value is: in the message, or in the oneof that it belongs to. Undefined while another field of that is set. */
export function holderOf(
  message: Message,
  { oneof, localName }: DescField,
): { readonly holder: object; readonly key: string } | undefined {
  if (oneof === undefined) {
    return { holder: message, key: localName };
  }
  const holder: unknown = Reflect.get(message, oneof.localName);
  return typeof holder === "object" && holder !== null && Reflect.get(holder, "case") === localName
    ? { holder, key: "value" }
    : undefined;
}

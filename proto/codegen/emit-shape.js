import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { baseName } from "./names.js";
import { codingOf } from "./values.js";

/** Prints the interface of a message: what protobuf-es holds, without its own properties. */
export function emitShape(target) {
  const { f, message } = target;
  f.print(
    "/** A plain `",
    message.typeName,
    "`; its fields are described in ",
    pbFile(message),
    ". */",
  );
  f.print(f.export("interface", `${baseName(f, message)}Shape`), " {");
  for (const member of message.members) {
    if (member.kind === "oneof") emitOneof(target, member);
    else emitField(target, member);
  }
  f.print("}");
}

/** Whether absence of the field is `undefined` rather than a zero. */
export function isOptional(field) {
  return field.fieldKind !== "list" && field.presence !== FeatureSet_FieldPresence.IMPLICIT;
}

function emitField(target, field) {
  const { f } = target;
  const { type } = codingOf(target, field);
  emitOpaqueNote(target, field, "  ");
  if (isOptional(field)) f.print("  ", field.localName, "?: ", type, " | undefined;");
  else if (field.fieldKind === "list") f.print("  ", field.localName, ": ", type, "[];");
  else f.print("  ", field.localName, ": ", type, ";");
}

function emitOneof(target, oneof) {
  const { f } = target;
  f.print("  ", oneof.localName, ":");
  for (const field of oneof.fields) {
    emitOpaqueNote(target, field, "    ");
    const { type } = codingOf(target, field);
    f.print("    | { case: ", f.string(field.localName), "; value: ", type, " }");
  }
  f.print("    | { case: undefined; value?: undefined };");
}

function emitOpaqueNote({ f, options }, field, indentation) {
  if (field.message === undefined || !options.opaque.has(field.message.typeName)) return;
  f.print(indentation, "/** The encoded `", field.message.typeName, "`, not decoded. */");
}

function pbFile(message) {
  return `${message.file.name.split("/").pop()}_pb.ts`;
}

import { isOptional } from "./emit-shape.js";
import { baseName, runtimeSymbol } from "./names.js";
import { codingOf, packedTagOf, tagOf } from "./values.js";

/** Prints `writeX`: every set field, in the order of the field numbers. */
export function emitWriter(target) {
  const { f, message } = target;
  const name = baseName(f, message);
  const isEmpty = message.fields.length === 0;
  f.print("/** Appends the fields of a `", message.typeName, "`. */");
  f.print(
    f.export("function", `write${name}`),
    isEmpty ? "(_w: " : "(w: ",
    runtimeSymbol(target, "WireWriter", "writer.js", true),
    isEmpty ? ", _m: " : ", m: ",
    `${name}Shape): void {`,
  );
  for (const group of groupByOneof(message)) {
    const [field] = group;
    if (field.oneof === undefined) emitField(target, field);
    else if (group.length === 1) emitOneofMember(target, field);
    else emitOneof(target, group);
  }
  f.print("}");
}

// Neighbours of one oneof are written by one switch. Members with another field between them stay apart, because
// the fields are written in the order of their numbers.
function groupByOneof(message) {
  const groups = [];
  for (const field of [...message.fields].sort((a, b) => a.number - b.number)) {
    const last = groups.at(-1);
    if (field.oneof !== undefined && last?.[0].oneof === field.oneof) last.push(field);
    else groups.push([field]);
  }
  return groups;
}

function emitField(target, field) {
  if (field.fieldKind === "list") {
    emitList(target, field);
    return;
  }
  const { f } = target;
  const access = `m.${field.localName}`;
  const isSet = isOptional(field)
    ? `${access} !== undefined`
    : codingOf(target, field).isSet(access);
  f.print("  if (", isSet, ") {");
  emitValue(target, field, access, "    ");
  f.print("  }");
}

function emitList(target, field) {
  const { f } = target;
  const access = `m.${field.localName}`;
  if (!field.packed) {
    f.print("  for (const item of ", access, ") {");
    emitValue(target, field, "item", "    ");
    f.print("  }");
    return;
  }
  f.print("  if (", access, ".length > 0) {");
  f.print("    w.tag(", packedTagOf(field), ");");
  f.print("    const at = w.begin();");
  for (const statement of codingOf(target, field).write("item")) {
    f.print("    for (const item of ", access, ") ", ...statement);
  }
  f.print("    w.end(at);");
  f.print("  }");
}

function emitOneofMember(target, field) {
  const { f } = target;
  const access = `m.${field.oneof.localName}`;
  f.print("  if (", access, ".case === ", f.string(field.localName), ") {");
  emitValue(target, field, `${access}.value`, "    ");
  f.print("  }");
}

function emitOneof(target, fields) {
  const { f } = target;
  const access = `m.${fields[0].oneof.localName}`;
  f.print("  switch (", access, ".case) {");
  for (const field of fields) {
    f.print("    case ", f.string(field.localName), ": {");
    emitValue(target, field, `${access}.value`, "      ");
    f.print("      break;");
    f.print("    }");
  }
  f.print("  }");
}

function emitValue(target, field, expression, indentation) {
  const { f } = target;
  const { wireType, write } = codingOf(target, field);
  f.print(indentation, "w.tag(", tagOf(field, wireType), ");");
  for (const statement of write(expression)) f.print(indentation, ...statement);
}

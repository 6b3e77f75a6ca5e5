import { isOptional } from "./emit-shape.js";
import { baseName, localVariable, runtimeSymbol } from "./names.js";
import { codingOf, isPackable, packedTagOf, tagOf } from "./values.js";

/** Prints `readX`: one local per member, one case per tag, and one literal, so that all results share one shape. */
export function emitReader(target) {
  const { f, message } = target;
  const name = baseName(f, message);
  f.print(
    "/** Reads the fields of a `",
    message.typeName,
    "` up to `end`, which is the reader's limit. */",
  );
  f.print(
    f.export("function", `read${name}`),
    "(r: ",
    runtimeSymbol(target, "WireReader", "reader.js", true),
    `, end: number): ${name}Shape {`,
  );
  for (const member of message.members) emitLocal(target, member);
  emitLoop(target);
  f.print("  return {");
  for (const member of message.members) {
    const local = localVariable(member);
    f.print("    ", local === member.localName ? local : `${member.localName}: ${local}`, ",");
  }
  f.print("  };");
  f.print("}");
}

function emitLocal(target, member) {
  const { f, message } = target;
  const local = localVariable(member);
  if (member.kind === "oneof") {
    const type = `${baseName(f, message)}Shape[${JSON.stringify(member.localName)}]`;
    f.print("  let ", local, ": ", type, " = { case: undefined, value: undefined };");
    return;
  }
  const { type, zero } = codingOf(target, member);
  if (member.fieldKind === "list") f.print("  const ", local, ": ", type, "[] = [];");
  else if (isOptional(member)) f.print("  let ", local, ": ", type, " | undefined;");
  else f.print("  let ", local, ": ", type, " = ", zero, ";");
}

function emitLoop(target) {
  const { f, message } = target;
  if (message.fields.length === 0) {
    f.print("  while (r.pos < end) r.skip(r.tag());");
    return;
  }
  f.print("  while (r.pos < end) {");
  f.print("    const tag = r.tag();");
  f.print("    switch (tag) {");
  for (const field of [...message.fields].sort((a, b) => a.number - b.number)) {
    if (field.fieldKind === "list") emitListCases(target, field);
    else emitCase(target, field);
  }
  f.print("      default:");
  f.print("        r.skip(tag);");
  f.print("    }");
  f.print("  }");
}

function emitCase(target, field) {
  const { f } = target;
  const { wireType, read, afterRead } = codingOf(target, field);
  const local = localVariable(field.oneof ?? field);
  const value =
    field.oneof === undefined
      ? read
      : ["{ case: ", f.string(field.localName), ", value: ", ...read, " }"];
  f.print("      case ", tagOf(field, wireType), ":");
  f.print("        ", local, " = ", ...value, ";");
  emitAfter(f, afterRead);
}

function emitListCases(target, field) {
  const { f } = target;
  const { wireType, read, afterRead } = codingOf(target, field);
  const local = localVariable(field);
  f.print("      case ", tagOf(field, wireType), ":");
  f.print("        ", local, ".push(", ...read, ");");
  emitAfter(f, afterRead);
  if (!isPackable(wireType)) return;
  f.print("      case ", packedTagOf(field), ": {");
  f.print("        const stop = r.openPacked();");
  f.print("        while (r.pos < stop) ", local, ".push(", ...read, ");");
  f.print("        r.closePacked(end);");
  f.print("        break;");
  f.print("      }");
}

function emitAfter(f, afterRead) {
  if (afterRead !== undefined) f.print("        ", afterRead);
  f.print("        break;");
}

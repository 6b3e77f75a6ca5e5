import { baseName, runtimeSymbol } from "./names.js";

/** Prints `encodeX` and `decodeX`: a whole message to bytes of its own, and back. */
export function emitConveniences(target) {
  const { f, message } = target;
  const name = baseName(f, message);
  f.print("/** Encodes a `", message.typeName, "` into bytes of its own. */");
  f.print(f.export("function", `encode${name}`), `(m: ${name}Shape): Uint8Array {`);
  f.print("  const w = ", runtimeSymbol(target, "takeSharedWriter", "writer.js"), "();");
  f.print(`  write${name}(w, m);`);
  f.print("  return w.finish();");
  f.print("}");
  f.print();
  f.print("/** Decodes a `", message.typeName, "`; its bytes fields are views of `bytes`. */");
  f.print(f.export("function", `decode${name}`), `(bytes: Uint8Array): ${name}Shape {`);
  f.print("  const r = new ", runtimeSymbol(target, "WireReader", "reader.js"), "(bytes);");
  f.print(`  return read${name}(r, r.limit);`);
  f.print("}");
}

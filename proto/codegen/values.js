import { ScalarType } from "@bufbuild/protobuf";
import { functionSymbol, runtimeSymbol, shapeSymbol } from "./names.js";

const VARINT = 0;
const BIT64 = 1;
const LENGTH_DELIMITED = 2;
const BIT32 = 5;

// For each scalar: its method on WireWriter and WireReader, its type, its zero, and its wire type.
const SCALARS = new Map([
  [ScalarType.DOUBLE, { method: "double", type: "number", zero: "0", wireType: BIT64 }],
  [ScalarType.FLOAT, { method: "float", type: "number", zero: "0", wireType: BIT32 }],
  [ScalarType.INT64, { method: "int64", type: "bigint", zero: "0n", wireType: VARINT }],
  [ScalarType.UINT64, { method: "uint64", type: "bigint", zero: "0n", wireType: VARINT }],
  [ScalarType.INT32, { method: "int32", type: "number", zero: "0", wireType: VARINT }],
  [ScalarType.FIXED64, { method: "fixed64", type: "bigint", zero: "0n", wireType: BIT64 }],
  [ScalarType.FIXED32, { method: "fixed32", type: "number", zero: "0", wireType: BIT32 }],
  [ScalarType.BOOL, { method: "bool", type: "boolean", zero: "false", wireType: VARINT }],
  [ScalarType.STRING, { method: "string", type: "string", zero: '""', wireType: LENGTH_DELIMITED }],
  [ScalarType.UINT32, { method: "varint32", type: "number", zero: "0", wireType: VARINT }],
  [ScalarType.SFIXED32, { method: "sfixed32", type: "number", zero: "0", wireType: BIT32 }],
  [ScalarType.SFIXED64, { method: "sfixed64", type: "bigint", zero: "0n", wireType: BIT64 }],
  [ScalarType.SINT32, { method: "sint32", type: "number", zero: "0", wireType: VARINT }],
  [ScalarType.SINT64, { method: "sint64", type: "bigint", zero: "0n", wireType: VARINT }],
]);

/**
 * How one value of a field (one element of a repeated one) is typed, written and read:
 * - `type`, `zero`: printables; `zero` is undefined for messages, whose absence is `undefined`
 * - `wireType`
 * - `write(expression)`: the statements after the tag
 * - `read`: the expression; `afterRead`: a statement that must follow it, if any
 * - `isSet(expression)`: the condition under which an implicitly present value is written
 */
export function codingOf(target, field) {
  if (field.message !== undefined) {
    return target.options.opaque.has(field.message.typeName)
      ? { ...bytesValue(target), zero: undefined }
      : messageValue(target, field.message);
  }
  if (field.enum !== undefined) return enumValue(target, field.enum);
  if (field.scalar === ScalarType.BYTES) return bytesValue(target);
  return scalarValue(field.scalar);
}

/** The number on the wire before a value: field number and wire type. */
export function tagOf(field, wireType) {
  return String(((field.number << 3) | wireType) >>> 0);
}

/** The tag before a packed field. */
export function packedTagOf(field) {
  return tagOf(field, LENGTH_DELIMITED);
}

/** Whether a repeated field's values may stand packed behind one tag. */
export function isPackable(wireType) {
  return wireType !== LENGTH_DELIMITED;
}

function scalarValue(scalar) {
  const { method, type, zero, wireType } = SCALARS.get(scalar);
  return {
    type: [type],
    zero: [zero],
    wireType,
    write: (expression) => [[`w.${method}(${expression});`]],
    read: [`r.${method}()`],
    afterRead: undefined,
    isSet: (expression) => {
      if (scalar === ScalarType.BOOL) return expression;
      // -0 is not the default: it has another encoding than 0.
      if (method === "double" || method === "float") return `!Object.is(${expression}, 0)`;
      return `${expression} !== ${zero}`;
    },
  };
}

function enumValue({ f }, desc) {
  const type = f.importShape(desc).toTypeOnly();
  return {
    ...scalarValue(ScalarType.INT32),
    type: [type],
    // Enums of proto3 are open: the number may be one that the type does not name, as in protobuf-es.
    read: ["r.int32() as ", type],
  };
}

function bytesValue(target) {
  return {
    type: ["Uint8Array"],
    zero: [runtimeSymbol(target, "EMPTY_BYTES", "reader.js")],
    wireType: LENGTH_DELIMITED,
    write: (expression) => [[`w.bytes(${expression});`]],
    read: ["r.bytes()"],
    afterRead: undefined,
    isSet: (expression) => `${expression}.length > 0`,
  };
}

function messageValue(target, message) {
  return {
    type: [shapeSymbol(target, message)],
    zero: undefined,
    wireType: LENGTH_DELIMITED,
    write: (expression) => [
      ["const at = w.begin();"],
      [functionSymbol(target, "write", message), `(w, ${expression});`],
      ["w.end(at);"],
    ],
    read: [functionSymbol(target, "read", message), "(r, r.enter())"],
    afterRead: "r.leave(end);",
    isSet: undefined,
  };
}

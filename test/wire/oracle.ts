// protobuf-es as the oracle: what a message is as plain data, and what an arbitrary input means.
import {
  clone,
  create,
  createFileRegistry,
  type DescField,
  type DescFile,
  type DescMessage,
  fromBinary,
  isFieldSet,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import {
  BinaryReader,
  BinaryWriter,
  configureTextEncoding,
  WireType,
} from "@bufbuild/protobuf/wire";
import {
  type DescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";

// protobuf-es decodes text by a TextDecoder that drops a leading U+FEFF. A codec must give back what it was given, so
// the oracle is told to keep it. (In this process only; everything else is as it is by default.)
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const strictDecoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
configureTextEncoding({
  encodeUtf8: (text) => encoder.encode(text),
  decodeUtf8: (bytes, strict) => (strict === true ? strictDecoder : decoder).decode(bytes),
  checkUtf8: (text) => !/\p{Surrogate}/u.test(text),
});

/** The message as plain data, with every member present. */
export function toPlain(desc: DescMessage, message: Message): Record<string, unknown> {
  const source = reflect(desc, message);
  const plainValue = (field: DescField, value: unknown): unknown =>
    field.message === undefined ? value : toPlain(field.message, messageOf(value));
  const entries = desc.members.map((member): [string, unknown] => {
    if (member.kind === "oneof") {
      const field = source.oneofCase(member);
      const value =
        field === undefined
          ? { case: undefined, value: undefined }
          : { case: field.localName, value: plainValue(field, source.get(field)) };
      return [member.localName, value];
    }
    if (member.fieldKind === "list") {
      return [member.localName, [...source.get(member)].map((each) => plainValue(member, each))];
    }
    const isAbsent = member.presence !== IMPLICIT && !source.isSet(member);
    return [member.localName, isAbsent ? undefined : plainValue(member, source.get(member))];
  });
  return Object.fromEntries(entries);
}

/**
 * The same message type, but fields of the types named in `opaque` are bytes: what the generator's option of that name
 * stands for, in protobuf-es's terms.
 */
export function withOpaque(desc: DescMessage, opaque: readonly string[]): DescMessage {
  const files = new Map<string, FileDescriptorProto>();
  const add = (file: DescFile): void => {
    file.dependencies.forEach(add);
    files.set(file.name, clone(FileDescriptorProtoSchema, file.proto));
  };
  add(desc.file);
  const replace = (message: DescriptorProto): void => {
    message.nestedType.forEach(replace);
    for (const field of message.field) {
      if (!opaque.includes(field.typeName.slice(1))) continue;
      field.type = FieldDescriptorProto_Type.BYTES;
      field.typeName = "";
      // A message can be absent, so its bytes can, too.
      const isInOneof = isFieldSet(field, FieldDescriptorProtoSchema.field.oneofIndex);
      if (!isInOneof && field.label !== FieldDescriptorProto_Label.REPEATED) {
        field.proto3Optional = true;
      }
    }
  };
  for (const file of files.values()) file.messageType.forEach(replace);
  const all = create(FileDescriptorSetSchema, { file: [...files.values()] });
  const found = createFileRegistry(all).getMessage(desc.typeName);
  if (found === undefined) throw new Error(`expected ${desc.typeName} in its own files`);
  return found;
}

const IMPLICIT = 2;

function messageOf(value: unknown): Message {
  if (typeof value === "object" && value !== null && "message" in value) {
    return value.message as Message;
  }
  throw new Error("expected a message from reflection");
}

/**
 * What any bytes mean under the codec's documented rules, told by another, slower way: the input is walked field by
 * field, each message confined to its own bytes, brought into the form on which protobuf-es agrees (no fields with a
 * foreign wire type, no unknown fields, of singular messages the last one), and given to protobuf-es. Throws when the
 * input is to be refused.
 */
export function readByOracle(desc: DescMessage, bytes: Uint8Array): Record<string, unknown> {
  return toPlain(desc, fromBinary(desc, tidyMessage(desc, bytes, 1)));
}

interface WireField {
  readonly number: number;
  readonly wireType: WireType;
  /** The value as it stands; for a length-delimited one without its length. */
  readonly value: Uint8Array;
}

/** Splits a message into its fields. Throws for what no message can be, and for groups. */
export function splitFields(bytes: Uint8Array): WireField[] {
  const reader = new BinaryReader(bytes);
  const fields: WireField[] = [];
  while (reader.pos < bytes.length) {
    const [number, wireType] = reader.tag();
    if (wireType === WireType.StartGroup || wireType === WireType.EndGroup)
      throw new Error("group");
    if (wireType === WireType.LengthDelimited) {
      const length = BigInt(reader.uint64());
      if (length > BigInt(bytes.length - reader.pos)) throw new Error("length beyond the message");
      const end = reader.pos + Number(length);
      fields.push({ number, wireType, value: bytes.subarray(reader.pos, end) });
      reader.pos = end;
    } else {
      const start = reader.pos;
      if (wireType === WireType.Varint) reader.uint64();
      else reader.skip(wireType);
      fields.push({ number, wireType, value: bytes.subarray(start, reader.pos) });
    }
  }
  return fields;
}

/** The opposite of `splitFields`. */
export function joinFields(fields: readonly WireField[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const { number, wireType, value } of fields) {
    writer.tag(number, wireType);
    if (wireType === WireType.LengthDelimited) writer.bytes(value);
    else writer.raw(value);
  }
  return writer.finish();
}

function tidyMessage(desc: DescMessage, bytes: Uint8Array, depth: number): Uint8Array {
  if (depth > 100) throw new Error("too deep");
  const tidy: WireField[] = [];
  for (const found of splitFields(bytes)) {
    const field = desc.fields.find((each) => each.number === found.number);
    if (field === undefined || !isReadable(field, found)) continue;
    if (field.message === undefined) {
      tidy.push(found);
      continue;
    }
    const value = tidyMessage(field.message, found.value, depth + 1);
    const earlier = tidy.findIndex((each) => each.number === found.number);
    if (field.fieldKind !== "list" && earlier >= 0) {
      // What is replaced must have been readable all the same.
      for (const { value: replaced } of tidy.splice(earlier, 1)) {
        fromBinary(field.message, replaced);
      }
    }
    tidy.push({ ...found, value });
  }
  return joinFields(tidy);
}

// A field is read in its own wire type and, when it is a repeated number, packed too. Packed values must fill it.
function isReadable(field: DescField, { wireType, value }: WireField): boolean {
  const own = wireTypeOf(field);
  if (wireType === own) return true;
  if (field.fieldKind !== "list" || wireType !== WireType.LengthDelimited) return false;
  checkPacked(value, own);
  return true;
}

function checkPacked(value: Uint8Array, wireType: WireType): void {
  const reader = new BinaryReader(value);
  while (reader.pos < value.length) {
    if (wireType === WireType.Varint) reader.uint64();
    else reader.skip(wireType);
  }
}

function wireTypeOf(field: DescField): WireType {
  if (field.message !== undefined) return WireType.LengthDelimited;
  switch (field.scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    default:
      return WireType.Varint;
  }
}

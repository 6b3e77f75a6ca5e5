import { create, type DescMessage, type Message, type MessageShape } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { WireWriter } from "@pawl/proto/wire/writer.js";

/** Bytes of the longest tag. */
const TAG_BYTES_MAX = 5;

/** A message without a field is encoded as nothing. */
const NOTHING: Uint8Array = new Uint8Array(0);

/**
 * A message that is encoded already: whoever serialises it writes exactly these bytes. They are carried as one unknown field, which protobuf
 * libraries must write as they read it: the first field's number and wire type, and everything behind its tag.
 *
 * It is for the hot streams, where the straight-line codec of `@pawl/proto` takes a fraction of the time of the reflective one. The fields of the
 * answer are not set: it can be sent, not read.
 *
 * @param bytes An encoded message of this type.
 */
export function encodedMessage<Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
): MessageShape<Desc> {
  if (bytes.length === 0) {
    return create(schema);
  }
  let tag = 0;
  let at = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++] ?? 0;
    tag += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) break;
  }
  const wireType = tag & 7;
  if (!(wireType in WireType)) {
    throw new TypeError(
      `Expected an encoded ${schema.typeName}, but its first wire type is ${wireType}.`,
    );
  }
  const message = create(schema);
  message.$unknown = [{ no: Math.floor(tag / 8), wireType, data: bytes.subarray(at) }];
  return message;
}

/** The encoded form of a message of which no field is known: what `encodedMessage` was made from, or what was received as such. */
export function bytesOf(message: Message): Uint8Array {
  const fields = message.$unknown;
  if (fields === undefined) {
    return NOTHING;
  }
  let length = 0;
  for (const { data } of fields) length += data.length + TAG_BYTES_MAX;
  const writer = new WireWriter(length);
  for (const { no, wireType, data } of fields) {
    writer.tag(((no << 3) | wireType) >>> 0);
    writer.raw(data);
  }
  return writer.view();
}

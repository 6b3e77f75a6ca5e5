import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";

/**
 * A message that is encoded already: whoever serialises it writes exactly these bytes. They are carried as one unknown field, which protobuf
 * libraries must write as they read it: the first field's number and wire type, and everything behind its tag.
 *
 * It is for the hot streams, where the straight-line codec of `@pawl/proto` takes a fraction of the time of the reflective one. The fields of the
 * answer are not set: it can be sent, not read.
 *
 * @param bytes An encoded message of this type, with at least one field.
 */
export function encodedMessage<Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
): MessageShape<Desc> {
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

// Goal: the generated codecs are protobuf. Method: any message goes through both libraries, in both directions.
import { type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codecs, type Encoder, encoders } from "./codecs.js";
import { messageArbitrary, UNSHRUNK } from "./message-arbitrary.js";
import { joinFields, splitFields, toPlain } from "./oracle.js";

describe.each(codecs)("$desc.typeName", ({ desc, seen, decode, recode }) => {
  it("reads what protobuf-es writes", () => {
    fc.assert(
      fc.property(messageArbitrary(desc), (message) => {
        const bytes = toBinary(desc, message);
        expect(decode(bytes)).toStrictEqual(toPlain(seen, fromBinary(seen, bytes)));
      }),
      UNSHRUNK,
    );
  });

  it("writes what it read, byte for byte as protobuf-es", () => {
    fc.assert(
      fc.property(messageArbitrary(desc), (message) => {
        const bytes = toBinary(desc, message);
        expect(hex(recode(bytes))).toBe(hex(bytes));
      }),
      UNSHRUNK,
    );
  });

  it("skips fields that it does not know, wherever they stand", () => {
    const unknown = fc
      .tuple(fc.integer({ min: 10_000, max: 20_000 }), fc.nat(), unknownValue)
      .map(([number, place, value]) => ({ number, place, ...value }));
    fc.assert(
      fc.property(messageArbitrary(desc), fc.array(unknown, { maxLength: 5 }), (message, extra) => {
        const bytes = toBinary(desc, message);
        const fields = splitFields(bytes);
        for (const each of extra) fields.splice(each.place % (fields.length + 1), 0, each);
        const expected = toPlain(seen, fromBinary(seen, bytes));
        expect(decode(joinFields(fields))).toStrictEqual(expected);
      }),
      UNSHRUNK,
    );
  });

  it("gives all messages one shape, set or not", () => {
    const members = desc.members.map((member) => member.localName);
    fc.assert(
      fc.property(messageArbitrary(desc), (message) => {
        expect(Object.keys(decode(toBinary(desc, message)))).toEqual(members);
      }),
      UNSHRUNK,
    );
  });
});

describe("a protobuf-es message given to the generated encoder", () => {
  function isWrittenAlike<T extends Message>({ schema, encode }: Encoder<T>): void {
    const desc: DescMessage = schema;
    fc.assert(
      fc.property(messageArbitrary(desc), (message) => {
        const bytes = toBinary(desc, message);
        expect(hex(encode(fromBinary(schema, bytes)))).toBe(hex(bytes));
      }),
      UNSHRUNK,
    );
  }

  it("is written alike: no fields", () => isWrittenAlike(encoders.empty));
  it("is written alike: scalars", () => isWrittenAlike(encoders.scalars));
  it("is written alike: optional scalars", () => isWrittenAlike(encoders.optionals));
  it("is written alike: repeated fields", () => isWrittenAlike(encoders.lists));
  it("is written alike: oneofs", () => isWrittenAlike(encoders.choice));
  it("is written alike: nested messages", () => isWrittenAlike(encoders.tree));
});

const unknownValue = fc.oneof(
  fc.nat({ max: 127 }).map((byte) => ({ wireType: WireType.Varint, value: Uint8Array.of(byte) })),
  fc
    .uint8Array({ minLength: 8, maxLength: 8 })
    .map((value) => ({ wireType: WireType.Bit64, value })),
  fc
    .uint8Array({ minLength: 4, maxLength: 4 })
    .map((value) => ({ wireType: WireType.Bit32, value })),
  fc.uint8Array({ maxLength: 200 }).map((value) => ({ wireType: WireType.LengthDelimited, value })),
);

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

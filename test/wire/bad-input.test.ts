// Goal: no input hangs a decoder, escapes it as anything but a WireError, or is taken for something that it is not.
// Method: valid messages are damaged, and the result is judged by the slow oracle.
import { toBinary } from "@bufbuild/protobuf";
import { WireError } from "@pawl/proto/wire/wire-error.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Codec, codecs } from "./codecs.js";
import { messageArbitrary, UNSHRUNK } from "./message-arbitrary.js";
import { readByOracle } from "./oracle.js";

describe.each(codecs)("$desc.typeName", (codec) => {
  const valid = messageArbitrary(codec.desc).map((message) => toBinary(codec.desc, message));

  it("agrees with the oracle on damaged messages", () => {
    fc.assert(
      fc.property(valid, fc.array(damage, { minLength: 1, maxLength: 4 }), (bytes, damages) => {
        let damaged: Uint8Array = bytes;
        for (const apply of damages) damaged = apply(damaged);
        expectAgreement(codec, damaged);
      }),
      { numRuns: 500, ...UNSHRUNK },
    );
  });

  it("agrees with the oracle on two messages end to end", () => {
    fc.assert(
      fc.property(valid, valid, (first, second) => {
        expectAgreement(codec, Uint8Array.from([...first, ...second]));
      }),
      UNSHRUNK,
    );
  });

  it("agrees with the oracle on messages cut off anywhere", () => {
    fc.assert(
      fc.property(valid, (bytes) => {
        for (let length = 0; length < Math.min(bytes.length, 100); length++) {
          expectAgreement(codec, bytes.slice(0, length));
        }
      }),
      { numRuns: 20, ...UNSHRUNK },
    );
  });

  it("agrees with the oracle on arbitrary bytes", () => {
    const small = fc.integer({ min: 0, max: 40 });
    const byte = fc.oneof(small, fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 40 }), (bytes) => {
        expectAgreement(codec, Uint8Array.from(bytes));
      }),
      { numRuns: 1_000 },
    );
  });
});

const place = fc.nat({ max: 1_000_000 });
const byteValue = fc.integer({ min: 0, max: 255 });

const damage: fc.Arbitrary<(bytes: Uint8Array) => Uint8Array> = fc.oneof(
  fc.tuple(place, fc.integer({ min: 0, max: 7 })).map(([at, bit]) => (bytes: Uint8Array) => {
    const flipped = at % Math.max(1, bytes.length);
    return bytes.map((byte, index) => (index === flipped ? byte ^ (1 << bit) : byte));
  }),
  fc
    .tuple(place, fc.array(byteValue, { maxLength: 6 }))
    .map(([at, inserted]) => (bytes: Uint8Array) => {
      const cut = at % (bytes.length + 1);
      return Uint8Array.from([...bytes.slice(0, cut), ...inserted, ...bytes.slice(cut)]);
    }),
  fc.tuple(place, fc.integer({ min: 1, max: 6 })).map(([at, count]) => (bytes: Uint8Array) => {
    const cut = at % (bytes.length + 1);
    return Uint8Array.from([...bytes.slice(0, cut), ...bytes.slice(cut + count)]);
  }),
);

function expectAgreement({ seen, decode }: Codec, bytes: Uint8Array): void {
  const given = `given ${Buffer.from(bytes).toString("hex")}`;
  let expected: Record<string, unknown>;
  try {
    expected = readByOracle(seen, bytes);
  } catch {
    expect(() => decode(bytes), given).toThrow(WireError);
    return;
  }
  expect(decode(bytes), given).toStrictEqual(expected);
}

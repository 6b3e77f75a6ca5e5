import { isUtf8 } from "node:buffer";
import { IdentityError } from "@pawl/server/core/identity/identity-error.js";
import {
  encodeUtf8,
  findInvalidUtf8,
  findLoneSurrogate,
  utf8ByteLength,
} from "@pawl/server/core/identity/utf8.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const wellFormedText = fc.string({ unit: "binary" });
const anyUnits = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd7fe, max: 0xe001 })))
  .map((units) => String.fromCharCode(...units));
// Bytes near the edges of table 3-7, so that random sequences are often almost right.
const edgeBytes = fc.constantFrom(
  ...[0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1],
  ...[0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff],
);

describe("UTF-8 in the core", () => {
  it("encodes every well-formed text as the host's encoder does", () => {
    fc.assert(
      fc.property(wellFormedText, (text) => {
        const expected = new TextEncoder().encode(text);
        expect(encodeUtf8(text)).toEqual(expected);
        expect(utf8ByteLength(text)).toBe(expected.length);
      }),
    );
  });

  it("counts a lone surrogate as the three bytes of its replacement", () => {
    fc.assert(
      fc.property(anyUnits, (text) => {
        expect(utf8ByteLength(text)).toBe(Buffer.byteLength(text, "utf8"));
      }),
    );
  });

  it.each([
    ["", -1],
    ["plain", -1],
    ["a😂b", -1],
    ["\ud800", 0],
    ["😂\udc00", 2],
    ["ab\ud83d", 2],
    ["\udc00\ud800", 0],
    ["\ud83d\ud83d\ude02", 0],
  ])("finds the first lone surrogate of %j at %d", (text, index) => {
    expect(findLoneSurrogate(text)).toBe(index);
  });

  it("refuses to encode a text with a lone surrogate", () => {
    expect(() => encodeUtf8("ab\ud83d")).toThrow(IdentityError);
    expect(() => encodeUtf8("ab\ud83d")).toThrow("a lone surrogate at character 2");
  });

  it("accepts exactly the bytes that the host calls UTF-8, and names the end of the good part", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(edgeBytes, fc.integer({ min: 0, max: 255 }))), (list) => {
        const bytes = Uint8Array.from(list);
        const invalid = findInvalidUtf8(bytes);
        expect(invalid === -1).toBe(isUtf8(bytes));
        if (invalid >= 0) expect(isUtf8(bytes.subarray(0, invalid))).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});

// Expected bytes are those of protobuf's own description of its encoding, or follow from it by hand.

import { WireReader } from "@pawl/proto/wire/reader.js";
import { WireError } from "@pawl/proto/wire/wire-error.js";
import { takeSharedWriter, WireWriter } from "@pawl/proto/wire/writer.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { text } from "./message-arbitrary.js";

describe("WireWriter", () => {
  it.each<[string, (w: WireWriter) => void, string]>([
    ["a varint of two bytes", (w) => w.varint32(150), "9601"],
    ["the largest uint32", (w) => w.varint32(0xffffffff), "ffffffff0f"],
    ["a tag of the largest field number", (w) => w.tag(0xfffffff8), "f8ffffff0f"],
    ["a negative int32 in ten bytes", (w) => w.int32(-2), "feffffffffffffffff01"],
    ["the smallest int32", (w) => w.int32(-(2 ** 31)), "80808080f8ffffffff01"],
    ["a negative sint32 in one byte", (w) => w.sint32(-1), "01"],
    ["the smallest sint32", (w) => w.sint32(-(2 ** 31)), "ffffffff0f"],
    ["the largest uint64", (w) => w.uint64(2n ** 64n - 1n), "ffffffffffffffffff01"],
    ["a uint64 of 33 bits", (w) => w.uint64(2n ** 32n), "8080808010"],
    ["a negative int64", (w) => w.int64(-2n), "feffffffffffffffff01"],
    ["the smallest int64", (w) => w.int64(-(2n ** 63n)), "80808080808080808001"],
    ["a negative sint64", (w) => w.sint64(-2n), "03"],
    ["the smallest sint64", (w) => w.sint64(-(2n ** 63n)), "ffffffffffffffffff01"],
    ["true", (w) => w.bool(true), "01"],
    ["a fixed32", (w) => w.fixed32(0x04030201), "01020304"],
    ["an sfixed32", (w) => w.sfixed32(-1), "ffffffff"],
    ["a fixed64", (w) => w.fixed64(0x0807060504030201n), "0102030405060708"],
    ["an sfixed64", (w) => w.sfixed64(-1n), "ffffffffffffffff"],
    ["a float", (w) => w.float(1), "0000803f"],
    ["an infinite float", (w) => w.float(Number.POSITIVE_INFINITY), "0000807f"],
    ["a double", (w) => w.double(-0), "0000000000000080"],
    ["ASCII text", (w) => w.string("testing"), "0774657374696e67"],
    ["text of two, three and four bytes", (w) => w.string("aß水😀"), "0a61c39fe6b0b4f09f9880"],
    [
      "the last text of each length",
      (w) => w.string("\x7f\u07ff\uffff\u{10ffff}"),
      "0a7fdfbfefbfbff48fbfbf",
    ],
    ["the first of two bytes", (w) => w.string("\x80"), "02c280"],
    ["the first of three bytes", (w) => w.string("\u0800"), "03e0a080"],
    ["the first of four bytes", (w) => w.string("\u{10000}"), "04f0908080"],
    ["no text", (w) => w.string(""), "00"],
    ["bytes", (w) => w.bytes(Uint8Array.of(1, 2)), "020102"],
    ["bytes without a length", (w) => w.raw(Uint8Array.of(1, 2)), "0102"],
  ])("writes %s", (_, write, expected) => {
    const writer = new WireWriter(1);
    write(writer);
    expect(Buffer.from(writer.finish()).toString("hex")).toBe(expected);
  });

  it.each([0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152])(
    "gives a nested message of %i bytes the length it needs",
    (length) => {
      const content = new Uint8Array(length).fill(7);
      const writer = new WireWriter();
      writer.tag(10);
      const at = writer.begin();
      writer.raw(content);
      writer.end(at);
      writer.bool(true);

      const reader = new WireReader(writer.view());
      expect(reader.tag()).toBe(10);
      expect(Buffer.compare(reader.bytes(), content)).toBe(0);
      expect(reader.bool()).toBe(true);
      expect(reader.pos).toBe(writer.pos);
    },
  );
});

describe("WireWriter, given what its fields cannot hold,", () => {
  it.each<[string, (w: WireWriter) => void]>([
    ["a negative uint32", (w) => w.varint32(-1)],
    ["a uint32 of 33 bits", (w) => w.varint32(2 ** 32)],
    ["a fraction", (w) => w.varint32(0.5)],
    ["no number", (w) => w.int32(Number.NaN)],
    ["an int32 of 33 bits", (w) => w.int32(2 ** 31)],
    ["a sint32 of 33 bits", (w) => w.sint32(-(2 ** 31) - 1)],
    ["a negative fixed32", (w) => w.fixed32(-1)],
    ["an sfixed32 of 33 bits", (w) => w.sfixed32(2 ** 31)],
    ["a negative uint64", (w) => w.uint64(-1n)],
    ["a uint64 of 65 bits", (w) => w.uint64(2n ** 64n)],
    ["an int64 of 65 bits", (w) => w.int64(2n ** 63n)],
    ["a sint64 of 65 bits", (w) => w.sint64(-(2n ** 63n) - 1n)],
    ["a fixed64 of 65 bits", (w) => w.fixed64(2n ** 64n)],
    ["an sfixed64 of 65 bits", (w) => w.sfixed64(2n ** 63n)],
    ["a finite number beyond a float", (w) => w.float(1e39)],
    ["a position that it has not reached", (w) => w.truncate(1)],
  ])("refuses %s, and writes nothing", (_, write) => {
    const writer = new WireWriter();
    expect(() => write(writer)).toThrow(expect.objectContaining({ code: "PAWL_WIRE_RANGE" }));
    expect(writer.pos).toBe(0);
  });

  it("refuses half of a surrogate pair wherever it stands, and writes nothing", () => {
    const lone = fc.constantFrom("\ud800", "\udbff", "\udc00", "\udfff", "\ude00\ud83d");
    // A partner on the wrong side is none: what follows must not begin, nor what precedes end, with a surrogate.
    fc.assert(
      fc.property(text, lone, fc.constantFrom("", "x", "水"), (before, half, after) => {
        const writer = new WireWriter();
        writer.varint32(5);
        const given = `${before}${half}${after}`;
        const refused = refusal(() => writer.string(given));
        expect(refused).toMatchObject({ code: "PAWL_WIRE_SURROGATE", offset: before.length });
        expect([...writer.view()]).toEqual([5]);
      }),
    );
  });

  it("goes on after a refusal from a position noted before", () => {
    const writer = new WireWriter();
    writer.string("kept");
    const { pos } = writer;
    writer.tag(10);
    expect(() => writer.string("\ud800")).toThrow(WireError);
    writer.truncate(pos);
    writer.string("!");
    expect(Buffer.from(writer.finish()).toString("latin1")).toBe("\x04kept\x01!");
  });
});

describe("the buffer of a WireWriter", () => {
  it("gives a copy by finish, and the living buffer by view", () => {
    const writer = new WireWriter();
    writer.varint32(1);
    const copy = writer.finish();
    const view = writer.view();
    writer.reset();
    writer.varint32(2);
    expect([...copy]).toEqual([1]);
    expect([...view]).toEqual([2]);
  });

  it("keeps what it has when it grows", () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 30 }), (texts) => {
        const writer = new WireWriter(1);
        for (const each of texts) writer.string(each);
        const reader = new WireReader(writer.finish());
        expect(texts.map(() => reader.string())).toEqual(texts);
      }),
    );
  });

  it("does not keep a huge buffer", () => {
    const writer = new WireWriter();
    writer.raw(new Uint8Array(9 * 1024 * 1024));
    writer.reset();
    expect(writer.view().buffer.byteLength).toBeLessThan(1024 * 1024);
    writer.varint32(1);
    expect([...writer.view()]).toEqual([1]);
  });
});

describe("the shared writer", () => {
  it("is empty whenever it is taken, also after a refusal", () => {
    const writer = takeSharedWriter();
    writer.tag(10);
    expect(() => writer.string("\ud800")).toThrow(WireError);
    expect(takeSharedWriter().pos).toBe(0);
  });
});

function refusal(act: () => void): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

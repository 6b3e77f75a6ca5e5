import { DEPTH_MAX, WireReader } from "@pawl/proto/wire/reader.js";
import type { WireErrorCode } from "@pawl/proto/wire/wire-error.js";
import { describe, expect, it } from "vitest";
import { decodeEnvelope, decodeScalars, decodeTree } from "./fixtures/gen/fixture_wire.js";

describe("WireReader", () => {
  it.each<[string, string, [WireErrorCode, number], (bytes: Uint8Array) => unknown]>([
    ["a varint without an end", "08ff", ["PAWL_WIRE_TRUNCATED", 1], decodeScalars],
    [
      "a varint of eleven bytes",
      "18ffffffffffffffffffff01",
      ["PAWL_WIRE_VARINT", 1],
      decodeScalars,
    ],
    ["a tag without a value", "18", ["PAWL_WIRE_TRUNCATED", 1], decodeScalars],
    ["a double of seven bytes", "0901020304050607", ["PAWL_WIRE_TRUNCATED", 1], decodeScalars],
    ["text beyond the input", "7203616f", ["PAWL_WIRE_TRUNCATED", 2], decodeScalars],
    ["a length of 2^32 + 1", "72818080801061", ["PAWL_WIRE_TRUNCATED", 6], decodeScalars],
    ["an unknown field beyond the input", "a20603616f", ["PAWL_WIRE_TRUNCATED", 3], decodeScalars],
    ["text beyond its message", "1a030a0261ff", ["PAWL_WIRE_TRUNCATED", 4], decodeTree],
    ["a nested message beyond its parent", "0a021a05", ["PAWL_WIRE_TRUNCATED", 4], decodeTree],
    ["a packed double of four bytes", "4a060a0401020304", ["PAWL_WIRE_TRUNCATED", 4], decodeTree],
    ["field number 0", "00", ["PAWL_WIRE_TAG", 1], decodeScalars],
    ["wire type 6", "0e", ["PAWL_WIRE_TAG", 1], decodeScalars],
    ["wire type 7", "0f", ["PAWL_WIRE_TAG", 1], decodeScalars],
    ["a tag of 33 bits", "fdffffff1f00000000", ["PAWL_WIRE_TAG", 0], decodeScalars],
    ["a tag of six bytes", "8d808080800000000000", ["PAWL_WIRE_TAG", 0], decodeScalars],
    ["a group", "a30614a406", ["PAWL_WIRE_GROUP", 2], decodeScalars],
    ["the end of a group", "a406", ["PAWL_WIRE_GROUP", 2], decodeScalars],
    ["an overlong form", "7202c081", ["PAWL_WIRE_UTF8", 2], decodeScalars],
    ["an encoded surrogate", "7203eda080", ["PAWL_WIRE_UTF8", 2], decodeScalars],
    ["a continuation alone", "720180", ["PAWL_WIRE_UTF8", 2], decodeScalars],
    ["half a character", "7203c3a0c3", ["PAWL_WIRE_UTF8", 2], decodeScalars],
  ])("refuses %s", (_, hex, [code, offset], decode) => {
    expect(() => decode(Buffer.from(hex, "hex"))).toThrow(
      expect.objectContaining({ name: "WireError", code, offset }),
    );
  });

  it("reads messages nested up to the bound, and refuses one more", () => {
    // The innermost message is empty; each one around it adds a tag and a length.
    const nest = (levels: number): Uint8Array => {
      let bytes = new Uint8Array(0);
      for (let level = 1; level < levels; level++) {
        const length =
          bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
        bytes = Uint8Array.from([0x0a, ...length, ...bytes]);
      }
      return bytes;
    };
    let depth = 0;
    for (let tree = decodeTree(nest(DEPTH_MAX)).left; tree !== undefined; tree = tree.left) depth++;
    expect(depth).toBe(DEPTH_MAX - 1);
    expect(() => decodeTree(nest(DEPTH_MAX + 1))).toThrow(
      expect.objectContaining({ code: "PAWL_WIRE_DEPTH" }),
    );
  });
});

describe("WireReader, where a message may be read in more than one way,", () => {
  it("takes the last of a singular message that occurs twice, without merging", () => {
    // leaf { name: "a" }, leaf {}
    expect(decodeTree(Buffer.from("1a030a01611a00", "hex")).leaf).toEqual({ name: "" });
  });

  it("takes a field with a foreign wire type for an unknown one", () => {
    // string_value as a varint, int32_value = 5
    const { stringValue, int32Value } = decodeScalars(Buffer.from("70091805", "hex"));
    expect({ stringValue, int32Value }).toEqual({ stringValue: "", int32Value: 5 });
  });

  it("cuts a number of 64 bits to the 32 of its field", () => {
    // uint32_value = 2^32 + 7
    expect(decodeScalars(Buffer.from("288780808010", "hex")).uint32Value).toBe(7);
  });

  it("keeps a leading U+FEFF, short and long", () => {
    for (const length of [1, 200]) {
      const given = `\ufeff${"x".repeat(length)}`;
      const bytes = Buffer.from(given);
      expect(new WireReader(Buffer.concat([lengthOf(bytes), bytes])).string()).toBe(given);
    }
  });

  it("gives bytes as plain views of the input, also of a Buffer that lies inside another", () => {
    const pool = Buffer.from("ffff09000000000000f03f7a020102ffff", "hex");
    const input = pool.subarray(2, -2);
    const { bytesValue, doubleValue } = decodeScalars(input);
    expect(doubleValue).toBe(1);
    expect([...bytesValue]).toEqual([1, 2]);
    expect(bytesValue.constructor).toBe(Uint8Array);
    expect(bytesValue.buffer).toBe(input.buffer);
  });

  it("leaves an opaque message as it came, also where it is damaged", () => {
    const { input, outputs, outcome } = decodeEnvelope(
      Buffer.from("12020fff1a001a0108220100", "hex"),
    );
    expect({ input, outputs, outcome }).toEqual({
      input: Uint8Array.of(0x0f, 0xff),
      outputs: [new Uint8Array(0), Uint8Array.of(0x08)],
      outcome: { case: "output", value: Uint8Array.of(0) },
    });
  });
});

function lengthOf(bytes: Uint8Array): Uint8Array {
  return bytes.length < 128
    ? Uint8Array.of(bytes.length)
    : Uint8Array.of((bytes.length & 127) | 128, bytes.length >> 7);
}

import { createContext, runInContext } from "node:vm";
import { Content, PawlError, TooLarge, ValueRefused } from "@pawl/sdk";
import { decodePayload, encodeValue } from "@pawl/sdk/internal/codec.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonPayload, textOf } from "./support/payloads.js";

const cyclic: Record<string, unknown> = {};
cyclic["self"] = cyclic;

test.each<[string, unknown, string]>([
  ["undefined in an array", { list: [1, undefined] }, "v.list[1]"],
  ["a hole in an array", { list: new Array(2) }, "v.list[0]"],
  ["a date", { at: new Date(0) }, "v.at"],
  ["a map", new Map([["a", 1]]), "v"],
  ["a set", { deep: [{ s: new Set() }] }, "v.deep[0].s"],
  ["a bigint", { n: 1n }, "v.n"],
  ["NaN", [Number.NaN], "v[0]"],
  ["infinity", { n: Number.POSITIVE_INFINITY }, "v.n"],
  ["a whole number beyond 2^53", { n: 2 ** 53 + 2 }, "v.n"],
  ["half a surrogate pair", { text: "a\ud83d" }, "v.text"],
  ["half a surrogate pair in a name", { "\udc00": 1 }, "v"],
  ["a function", { f: () => 1 }, "v.f"],
  ["a symbol", { s: Symbol("x") }, "v.s"],
  ["bytes", { b: new Uint8Array(1) }, "v.b"],
  ["a class instance", { e: new Error("x") }, "v.e"],
  ["an odd name", { "a-b": { c: 1n } }, 'v["a-b"].c'],
])("%s is refused where it is written, with its path", (_what, value, path) => {
  expect(() => encodeValue(value, "v")).toThrow(ValueRefused);
  expect(() => encodeValue(value, "v")).toThrow(
    expect.objectContaining({ path, retryable: false }),
  );
});

test("a cycle is refused instead of recursing for ever", () => {
  expect(() => encodeValue(cyclic, "v")).toThrow(/nesting deeper than 100, or a cycle/);
});

test("absent, null and empty are three things", () => {
  expect(encodeValue(undefined, "v")).toBeUndefined();
  expect(textOf(encodeValue(null, "v"))).toBe("null");
  expect(textOf(encodeValue("", "v"))).toBe('""');
  expect(decodePayload(undefined, "v")).toBeUndefined();
});

test("objects without prototype, and of another realm, are plain too", () => {
  const bare: Record<string, unknown> = Object.create(null);
  bare["a"] = 1;
  expect(textOf(encodeValue(bare, "v"))).toBe('{"a":1}');
  const foreign: unknown = runInContext("({ a: [1, { b: null }] })", createContext({}));
  expect(textOf(encodeValue(foreign, "v"))).toBe('{"a":[1,{"b":null}]}');
});

test("whatever is accepted comes back equal", () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      const clean: unknown = JSON.parse(JSON.stringify(value));
      let payload: ReturnType<typeof encodeValue>;
      try {
        payload = encodeValue(clean, "v");
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(PawlError);
        return;
      }
      expect(decodePayload(payload, "v")).toEqual(clean);
    }),
  );
});

test("decoding touches no prototype", () => {
  const value = decodePayload(jsonPayload('{"__proto__":{"polluted":true}}'), "v");
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(Object.hasOwn(Object(value), "__proto__")).toBe(true);
  expect(Reflect.get({}, "polluted")).toBeUndefined();
});

test("content that is not JSON passes as it is, both ways", () => {
  const image = new Content("image/png", new Uint8Array([1, 2, 3]));
  const payload = encodeValue(image, "v");
  expect(payload?.contentType).toBe("image/png");
  expect(decodePayload(payload, "v")).toEqual(image);
});

test("content above the message bound is refused for good", () => {
  expect(() => encodeValue("x".repeat(4_000_001), "v")).toThrow(TooLarge);
});

test("bytes that are no JSON are named, not guessed", () => {
  expect(() => decodePayload(jsonPayload("{"), "the input")).toThrow(/the input.*not JSON/);
});

import { equalDigests } from "@pawl/server/core/identity/content-digest.js";
import { sha256, sha256Into } from "@pawl/server/log/sha256.js";
import {
  digestBytes,
  isJsonContentType,
  readClientDigest,
} from "@pawl/server/rpc/digest/content-digest.js";
import { computeJsonDigest, type JsonDigest } from "@pawl/server/rpc/digest/json-digest.js";
import { describe, expect, it } from "vitest";
import { readContentDigestVectors } from "../../vectors/read-vectors.js";

const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const jsonHex = (result: JsonDigest): string =>
  result.ok ? toHex(result.digest.digest) : result.refusal.message;

describe("content digest", () => {
  const { digests, refusals } = readContentDigestVectors();

  it("has at least 15 vectors", () => {
    expect(digests.length).toBeGreaterThanOrEqual(15);
  });

  it.each(digests)("vector: $name", ({ data, bytes, json }) => {
    const content = Buffer.from(data, "hex");
    const plain = digestBytes(content);
    expect(plain.kind).toBe("bytes");
    expect(toHex(plain.digest)).toBe(bytes);
    const canonical = computeJsonDigest(content);
    expect(canonical.ok ? canonical.digest.kind : canonical.refusal).toBe("json");
    expect(jsonHex(canonical)).toBe(json);
  });

  it.each(refusals)("has no json digest: $name", ({ data, reason }) => {
    const result = computeJsonDigest(Buffer.from(data, "hex"));
    expect(result.ok ? "" : result.refusal.reason).toBe(reason);
  });

  it.each([
    [
      "white space and the order of members",
      '{"a":1,"b":[true]}',
      '\n{ "b" : [ true ],\t"a" : 1.0 }',
    ],
    ["how a character is escaped", '"é/"', '"\\u00E9\\/"'],
    ["how a number is written", "[100, 0.1]", "[1e2, 1.0E-1]"],
  ])("json ignores %s", (_, left, right) => {
    const [leftHex, rightHex] = [left, right].map((text) =>
      jsonHex(computeJsonDigest(Buffer.from(text, "utf8"))),
    );
    expect(leftHex).toMatch(/^[0-9a-f]{64}$/);
    expect(rightHex).toBe(leftHex);
  });

  it("compares digests of one kind only", () => {
    const digest = new Uint8Array(32).fill(1);
    expect(equalDigests({ kind: "json", digest }, { kind: "json", digest })).toBe(true);
    expect(equalDigests({ kind: "json", digest }, { kind: "bytes", digest })).toBe(false);
    expect(equalDigests({ kind: "json", digest }, { kind: "json", digest: digest.slice(1) })).toBe(
      false,
    );
  });
});

describe("client digest", () => {
  it("takes 32 bytes as they are and refuses every other length", () => {
    const digest = new Uint8Array(32).fill(5);
    expect(readClientDigest(digest, "payload.digest")).toEqual({ kind: "client", digest });
    for (const length of [0, 31, 33]) {
      expect(readClientDigest(new Uint8Array(length), "payload.digest")).toEqual({
        field: "payload.digest",
        expected: "32 bytes",
        actual: `${length} bytes`,
      });
    }
  });
});

describe("isJsonContentType", () => {
  it.each([
    "application/json",
    "Application/JSON; charset=utf-8",
    "text/json",
    "application/vnd.refund+json",
    "application/ld+json;profile=x",
  ])("says yes to %s", (contentType) => {
    expect(isJsonContentType(contentType)).toBe(true);
  });

  it.each([
    "",
    "json",
    "text/plain",
    "application/jsonl",
    "application/json5",
    "a/b+jsonx",
    "text/x; a=+json",
  ])("says no to %s", (contentType) => {
    expect(isJsonContentType(contentType)).toBe(false);
  });
});

describe("sha256", () => {
  // FIPS 180-4 examples.
  const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

  it("gives the published hashes, in an array of its own", () => {
    const hash = sha256(new TextEncoder().encode("abc"));
    expect(toHex(hash)).toBe(abc);
    expect(hash.buffer.byteLength).toBe(32);
    expect(toHex(sha256(new Uint8Array()))).toBe(nothing);
  });

  it("writes into a larger target, and refuses one without room", () => {
    const target = new Uint8Array(40).fill(0xee);
    sha256Into(new TextEncoder().encode("abc"), target, 4);
    expect(toHex(target)).toBe(`eeeeeeee${abc}eeeeeeee`);
    expect(() => sha256Into(new Uint8Array(), target, 9)).toThrow(RangeError);
  });
});

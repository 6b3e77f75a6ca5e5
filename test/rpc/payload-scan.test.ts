import { create, toBinary } from "@bufbuild/protobuf";
import { DigestKind, PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import { decodePayload, encodePayload } from "@pawl/proto/v1/payload_wire.js";
import { RejectionError } from "@pawl/server/kernel/outcome.js";
import { dataOf, scanPayload } from "@pawl/server/rpc/payload-scan.js";
import fc from "fast-check";
import { expect, test } from "vitest";

const payloads = fc.record({
  contentType: fc.oneof(
    fc.constant("application/json"),
    fc.constantFrom("application/JSON", "application/vnd.x+json; charset=utf-8", "text/plain"),
    fc.string({ minLength: 1, maxLength: 20 }),
  ),
  data: fc.uint8Array({ maxLength: 300 }),
  encoding: fc.constantFrom("", "gzip"),
  digest: fc.option(fc.uint8Array({ minLength: 32, maxLength: 32 }), { nil: undefined }),
});

test("finds in place what decoding finds, for every payload", () => {
  fc.assert(
    fc.property(payloads, ({ contentType, data, encoding, digest }) => {
      const bytes = encodePayload({
        ...{ contentType, encoding, body: { case: "data", value: data } },
        digest: digest === undefined ? undefined : { kind: DigestKind.CLIENT, value: digest },
      });
      const scan = scanPayload(bytes, "p");
      const decoded = decodePayload(bytes);
      expect(scan.contentType).toBe(decoded.contentType);
      expect(Buffer.from(dataOf(bytes, scan))).toEqual(Buffer.from(data));
      expect(scan.clientDigest).toEqual(digest);
      const isJson = /json/i.test(contentType) && encoding === "";
      if (["application/json", "application/JSON"].includes(contentType) || !isJson) {
        expect(scan.isJson).toBe(isJson);
      }
    }),
  );
});

test("cut at any place it is whole or refused, and never read beyond its end", () => {
  const bytes = toBinary(
    PayloadSchema,
    create(PayloadSchema, {
      contentType: "application/json",
      body: { case: "data", value: Buffer.from('{"a":1}') },
      encoding: "x",
    }),
  );
  for (let length = 0; length < bytes.length; length++) {
    try {
      const scan = scanPayload(bytes.subarray(0, length), "p");
      expect(Buffer.from(dataOf(bytes, scan)).toString()).toBe('{"a":1}');
    } catch (error) {
      expect(error).toBeInstanceOf(RejectionError);
    }
  }
});

test("any bytes at all are taken or refused, by a typed error", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      try {
        scanPayload(bytes, "p");
      } catch (error) {
        expect(error).toBeInstanceOf(RejectionError);
      }
    }),
  );
});

test.each([
  ["a digest that is not the client's", { kind: DigestKind.BYTES, bytes: 32 }, "p.digest.kind"],
  ["a digest of another length", { kind: DigestKind.CLIENT, bytes: 31 }, "p.digest.value"],
])("%s is refused by field", (_name, { kind, bytes }, field) => {
  const payload = encodePayload({
    contentType: "text/plain",
    encoding: "",
    body: { case: "data", value: new Uint8Array(1) },
    digest: { kind, value: new Uint8Array(bytes) },
  });
  expect(() => scanPayload(payload, "p")).toThrowError(
    expect.objectContaining({
      rejection: expect.objectContaining({
        detail: expect.objectContaining({ value: expect.objectContaining({ field }) }),
      }),
    }),
  );
});

import { createHash } from "node:crypto";
import type { DigestKind } from "@pawl/server/core/identity/content-digest.js";
import {
  computeFingerprint,
  describeStart,
  encodeFingerprintRequest,
  type FingerprintContent,
  type FingerprintKind,
  type FingerprintRequest,
} from "@pawl/server/core/identity/fingerprint.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FingerprintVector, readFingerprintVectors } from "../../vectors/read-vectors.js";

const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();
const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const fingerprintHex = (request: FingerprintRequest): string =>
  toHex(computeFingerprint(request, sha256));

const content: FingerprintContent = {
  contentType: "application/json",
  digest: { kind: "json", digest: new Uint8Array(32).fill(7) },
};
const refund: FingerprintRequest = {
  kind: "operation",
  name: "payments.refund",
  target: "account-17",
  content,
};

const shortText = fc.string({ unit: fc.constantFrom("a", "b", "\0", "\u0001", "é"), maxLength: 3 });
const requests: fc.Arbitrary<FingerprintRequest> = fc.record({
  kind: fc.constantFrom<FingerprintKind>("start", "operation", "step", "answer"),
  name: shortText,
  target: fc.option(shortText, { nil: undefined }),
  content: fc.option(
    fc.record({
      contentType: shortText,
      digest: fc.record({
        kind: fc.constantFrom<DigestKind>("bytes", "json", "client", "keyed"),
        digest: fc.constantFrom(0, 1).map((byte) => new Uint8Array(32).fill(byte)),
      }),
    }),
    { nil: undefined },
  ),
});

function readRequest({ request }: FingerprintVector): FingerprintRequest {
  const { content: stored, ...rest } = request;
  if (stored === undefined) return rest;
  const digest = { kind: stored.digestKind, digest: Buffer.from(stored.digest, "hex") };
  return { ...rest, content: { contentType: stored.contentType, digest } };
}

describe("fingerprint", () => {
  const { cases } = readFingerprintVectors();

  it("has at least 15 vectors", () => {
    expect(cases.length).toBeGreaterThanOrEqual(15);
  });

  it.each(cases)("vector: $name", (vector) => {
    const request = readRequest(vector);
    expect(toHex(encodeFingerprintRequest(request))).toBe(vector.encoded);
    expect(fingerprintHex(request)).toBe(vector.fingerprint);
  });

  it("changes with every single field, and tells absent from empty", () => {
    const digest = { kind: "json" as const, digest: new Uint8Array(32).fill(8) };
    const fingerprints = [
      refund,
      { ...refund, kind: "step" as const },
      { ...refund, kind: "answer" as const },
      { ...refund, kind: "start" as const },
      { ...refund, name: "payments.charge" },
      { ...refund, target: "account-18" },
      { ...refund, target: "" },
      { ...refund, target: undefined },
      { ...refund, content: undefined },
      { ...refund, content: { ...content, contentType: "text/plain" } },
      { ...refund, content: { ...content, contentType: "" } },
      { ...refund, content: { ...content, digest } },
      { ...refund, content: { ...content, digest: { ...content.digest, kind: "bytes" as const } } },
      {
        ...refund,
        content: { ...content, digest: { ...content.digest, kind: "client" as const } },
      },
      { ...refund, content: { ...content, digest: { ...content.digest, kind: "keyed" as const } } },
    ].map(fingerprintHex);
    expect(new Set(fingerprints).size).toBe(fingerprints.length);
  });

  it("is injective before hashing: equal encodings mean equal requests", () => {
    fc.assert(
      fc.property(requests, requests, (left, right) => {
        const equal = JSON.stringify(left) === JSON.stringify(right);
        const leftHex = toHex(encodeFingerprintRequest(left));
        expect(leftHex === toHex(encodeFingerprintRequest(right))).toBe(equal);
      }),
      { numRuns: 2000 },
    );
  });

  it("of a start covers namespace, workflow and input", () => {
    const start = fingerprintHex(describeStart("default", "support.agent", content));
    expect(start).toBe(
      fingerprintHex({ kind: "start", name: "support.agent", target: "default", content }),
    );
    expect(start).not.toBe(fingerprintHex(describeStart("billing", "support.agent", content)));
    expect(start).not.toBe(fingerprintHex(describeStart("default", "support.other", content)));
    expect(start).not.toBe(fingerprintHex(describeStart("default", "support.agent", undefined)));
  });

  it.each([
    ["an ill-formed name", { ...refund, name: "\ud800" }],
    ["an ill-formed target", { ...refund, target: "\udc00" }],
    [
      "a digest that is none",
      {
        ...refund,
        content: { ...content, digest: { kind: "json" as const, digest: new Uint8Array() } },
      },
    ],
  ])("refuses %s", (_, request) => {
    expect(() => computeFingerprint(request, sha256)).toThrow(
      expect.objectContaining({ code: "PAWL_IDENTITY_INVALID" }),
    );
  });
});

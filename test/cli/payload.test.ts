import { create } from "@bufbuild/protobuf";
import { FailureSchema } from "@pawl/proto/v1/failure_pb.js";
import { type Payload, PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import { describeFailure } from "@pawl/server/cli/format/failure.js";
import { describePayload } from "@pawl/server/cli/format/payload.js";
import { describe, expect, it } from "vitest";

function content(contentType: string, data: string | Uint8Array, encoding = ""): Payload {
  const value = typeof data === "string" ? new TextEncoder().encode(data) : data;
  return create(PayloadSchema, { contentType, encoding, body: { case: "data", value } });
}

describe("content for people", () => {
  it("is JSON in one line, its numbers and strings as they were written", () => {
    const text = '{\n  "a": 1.0,\n  "b c": "x  \\" y",\n  "n": 9007199254740993\n}';
    expect(describePayload(content("application/json", text))).toBe(
      '{"a":1.0,"b c":"x  \\" y","n":9007199254740993}',
    );
  });

  it("tells none, null and empty apart", () => {
    expect(describePayload(undefined)).toBe("none");
    expect(describePayload(content("application/json", "null"))).toBe("null");
    expect(describePayload(content("text/plain", ""))).toBe("text/plain, 0 bytes");
  });

  it("is told by type and size where it is no text", () => {
    const bytes = Uint8Array.of(0xff, 0xfe);
    expect(describePayload(content("image/png", bytes))).toBe("image/png, 2 bytes");
    expect(describePayload(content("text/plain", bytes))).toBe("text/plain, 2 bytes");
    expect(describePayload(content("application/json", "{}", "aes"))).toBe(
      'application/json, 2 bytes, encoded by "aes"',
    );
  });

  it("says where large content is", () => {
    const body = { case: "blob", value: { sizeBytes: 40_000n } } as const;
    expect(describePayload(create(PayloadSchema, { contentType: "text/csv", body }))).toBe(
      "text/csv, 40,000 bytes, stored beside the run",
    );
  });

  it("is cut visibly", () => {
    expect(describePayload(content("text/plain", "abcdef"), 4)).toBe("abc…");
  });
});

describe("a failure for people", () => {
  it("is told with its chain", () => {
    const failure = create(FailureSchema, {
      kind: "CardDeclined",
      code: "card_declined",
      message: "no funds",
      cause: { kind: "HttpError", message: "402" },
    });
    expect(describeFailure(failure)).toBe(
      "CardDeclined (card_declined): no funds; caused by HttpError: 402",
    );
  });
});

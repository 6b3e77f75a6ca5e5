import type { DigestKind } from "@pawl/server/core/identity/content-digest.js";
import { digestBytes } from "@pawl/server/rpc/digest/content-digest.js";
import { computeJsonDigest } from "@pawl/server/rpc/digest/json-digest.js";
import {
  type ComparableContent,
  type JsonDigestSource,
  sameContent,
} from "@pawl/server/rpc/digest/same-content.js";
import { describe, expect, it } from "vitest";

const digester: JsonDigestSource = { digestJson: async (data) => computeJsonDigest(data) };

function received(text: string, contentType = "application/json"): ComparableContent {
  const data = Buffer.from(text, "utf8");
  return { contentType, digest: digestBytes(data), readData: async () => data };
}

function withDigest(kind: DigestKind, byte: number): ComparableContent {
  return {
    contentType: "application/json",
    digest: { kind, digest: new Uint8Array(32).fill(byte) },
    readData: () => {
      throw new Error("these digests decide; the content must not be read");
    },
  };
}

describe("sameContent", () => {
  it("decides by the digests when they are equal, without reading the content", async () => {
    const outcome = await sameContent(withDigest("bytes", 1), withDigest("bytes", 1), digester);
    expect(outcome).toEqual({ same: true, by: "digest" });
  });

  it("lets the json digests decide when two documents' bytes differ", async () => {
    const stored = received('{"a":1,"b":2}');
    expect(await sameContent(stored, received('{ "b": 2, "a": 1.0 }'), digester)).toEqual({
      same: true,
      by: "json_digest",
    });
    expect(await sameContent(stored, received('{"a":1,"b":3}'), digester)).toEqual({
      same: false,
      by: "json_digest",
    });
  });

  it("lets a document without a json digest equal only itself", async () => {
    const twice = '{"a":1,"a":1}';
    expect(await sameContent(received(twice), received(twice), digester)).toEqual({
      same: true,
      by: "digest",
    });
    for (const other of ['{"a":1, "a":1}', '{"a":1}']) {
      expect(await sameContent(received(twice), received(other), digester)).toEqual({
        same: false,
        by: "json_refusal",
      });
      expect(await sameContent(received(other), received(twice), digester)).toEqual({
        same: false,
        by: "json_refusal",
      });
    }
  });

  it.each(["application/octet-stream", "text/plain"])("never reads %s as JSON", async (type) => {
    const outcome = await sameContent(received("[1]", type), received("[ 1 ]", type), digester);
    expect(outcome).toEqual({ same: false, by: "digest" });
  });

  it("takes another content type for other content", async () => {
    const outcome = await sameContent(received("1"), received("1", "text/plain"), digester);
    expect(outcome).toEqual({ same: false, by: "content_type" });
  });

  it.each<[DigestKind, DigestKind]>([
    ["bytes", "json"],
    ["json", "client"],
    ["client", "keyed"],
  ])("does not compare %s with %s, whatever the values", async (left, right) => {
    const outcome = await sameContent(withDigest(left, 1), withDigest(right, 1), digester);
    expect(outcome).toEqual({ same: false, by: "digest_kind" });
  });

  it.each<DigestKind>(["json", "client", "keyed"])(
    "%s digests that differ are final",
    async (kind) => {
      const outcome = await sameContent(withDigest(kind, 1), withDigest(kind, 2), digester);
      expect(outcome).toEqual({ same: false, by: "digest" });
    },
  );
});

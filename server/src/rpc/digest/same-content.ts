import { type ContentDigest, equalDigests } from "../../core/identity/content-digest.js";
import { isJsonContentType } from "./content-digest.js";
import type { JsonDigest } from "./json-digest.js";

/** Content that is to be compared with other content. */
export interface ComparableContent {
  readonly contentType: string;
  readonly digest: ContentDigest;
  /** Gives the content as received; called at most once, and only when the digests cannot decide. */
  readonly readData: () => Uint8Array | Promise<Uint8Array>;
}

/** What decided a comparison. */
export type ComparedBy =
  /** Content types differ. */
  | "content_type"
  /** Digests of two kinds, which say nothing about each other. */
  | "digest_kind"
  /** Digests of one kind. */
  | "digest"
  /** The `json` digests of two documents whose `bytes` digests differ. */
  | "json_digest"
  /** One of two documents whose `bytes` digests differ has no `json` digest: such a document equals only itself. */
  | "json_refusal";

/** Whether two contents are the same, and by what. */
export interface ContentComparison {
  readonly same: boolean;
  readonly by: ComparedBy;
}

/** The part of `JsonDigester` that comparing needs. */
export interface JsonDigestSource {
  digestJson(data: Uint8Array): Promise<JsonDigest>;
}

/**
 * Whether two requests carry the same content. Only digests of one kind are compared; when two `bytes` digests of JSON
 * differ (starts and steps, where none is computed in advance), the `json` digests of both documents decide.
 */
export async function sameContent(
  left: ComparableContent,
  right: ComparableContent,
  digester: JsonDigestSource,
): Promise<ContentComparison> {
  if (left.contentType !== right.contentType) return { same: false, by: "content_type" };
  if (left.digest.kind !== right.digest.kind) return { same: false, by: "digest_kind" };
  const same = equalDigests(left.digest, right.digest);
  if (same || left.digest.kind !== "bytes" || !isJsonContentType(left.contentType)) {
    return { same, by: "digest" };
  }
  const [leftJson, rightJson] = await Promise.all([
    digester.digestJson(await left.readData()),
    digester.digestJson(await right.readData()),
  ]);
  if (!leftJson.ok || !rightJson.ok) return { same: false, by: "json_refusal" };
  return { same: equalDigests(leftJson.digest, rightJson.digest), by: "json_digest" };
}

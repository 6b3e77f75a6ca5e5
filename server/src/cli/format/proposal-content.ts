import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import { exactJson, exactLine, exactText } from "./exact-text.js";
import { isJson, textOf } from "./payload.js";
import { count } from "./text.js";

/** The content of a proposal, whole. */
export interface ProposalContent {
  readonly payload: Payload;
  readonly bytes: Uint8Array;
  /** SHA-256 of the bytes, hex. */
  readonly sha256: string;
}

/** How content is shown. */
export interface ShownContent {
  /** As named values. */
  readonly fields: readonly (readonly [string, string])[];
  /** Text of several lines, below them. Empty: there is none. */
  readonly lines: readonly string[];
  /** True when the bytes themselves can only be looked at in a file. */
  readonly isOpaque: boolean;
}

/** All of the content: text as text, so that no two look the same; anything else by size and SHA-256. */
export function showContent(content: ProposalContent | undefined): ShownContent {
  if (content === undefined) {
    return { fields: [["content", "none"]], lines: [], isOpaque: false };
  }
  const { payload, bytes } = content;
  const { contentType, encoding } = payload;
  const fields = [["content type", exactText(contentType)] as const];
  const text = encoding === "" ? textOf(contentType, bytes) : undefined;
  if (text === undefined) {
    return { fields: [...fields, ...opaqueFields(content)], lines: [], isOpaque: true };
  }
  if (!isJson(contentType) && text.includes("\n")) {
    const lines = text.split("\n").map((line) => `    | ${exactLine(line)}`);
    return { fields, lines, isOpaque: false };
  }
  const shown = isJson(contentType) && text !== "" ? exactJson(text) : exactText(text);
  return { fields: [...fields, ["content", shown]], lines: [], isOpaque: false };
}

function opaqueFields({ payload, bytes, sha256 }: ProposalContent): (readonly [string, string])[] {
  const { encoding, digest } = payload;
  return [
    ["content size", count(bytes.length, "byte")],
    ["content sha256", sha256],
    ...(encoding === "" ? [] : [["encoded by", exactText(encoding)] as const]),
    ...(digest === undefined
      ? []
      : [["client's digest", Buffer.from(digest.value).toString("hex")] as const]),
  ];
}

import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import { exactJson, exactLine, exactText } from "./exact-text.js";
import { foldLines, INLINE_COLUMNS } from "./fold.js";
import { isValidJson, jsonLines } from "./json-lines.js";
import { isJson, textOf } from "./payload.js";
import { count, displayWidth } from "./text.js";

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
  const exact = exactLines(text, isJson(contentType));
  return typeof exact === "string"
    ? { fields: [...fields, ["content", exact]], lines: [], isOpaque: false }
    : { fields, lines: foldLines(exact), isOpaque: false };
}

/** Text in one line where it fits, else in lines that fit once they are folded; JSON by its members. No two texts look the same. */
function exactLines(text: string, isJsonType: boolean): string | string[] {
  const isJsonText = isJsonType && isValidJson(text);
  if (!isJsonText && text.includes("\n")) return text.split("\n").map(exactLine);
  const line = isJsonText ? exactJson(text) : exactText(text);
  if (displayWidth(line) <= INLINE_COLUMNS) return line;
  return isJsonText ? jsonLines(line) : [line];
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

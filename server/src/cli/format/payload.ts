import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import { count, shorten } from "./text.js";

/** Longest piece of content that is shown in a line of text. */
const SHOWN_MAX = 2_000;

/** Content for people: JSON and text as they are (shortened), anything else by type and size. */
export function describePayload(
  payload: Payload | undefined,
  shownMax: number = SHOWN_MAX,
): string {
  if (payload === undefined) return "none";
  const { body, contentType, encoding } = payload;
  if (body.case === "blob") {
    return `${contentType}, ${count(body.value.sizeBytes, "byte")}, stored beside the run`;
  }
  if (body.case === undefined) return `${contentType} without content`;
  const size = `${contentType}, ${count(body.value.byteLength, "byte")}`;
  if (encoding !== "") return `${size}, encoded by "${encoding}"`;
  const text = isText(contentType) ? decodeText(body.value) : undefined;
  if (text === undefined || text === "") return size;
  return shorten(isJson(contentType) ? compactJson(text) : text, shownMax);
}

function isJson(contentType: string): boolean {
  return /^application\/(?:[\w.-]+\+)?json\b/.test(contentType);
}

function isText(contentType: string): boolean {
  return isJson(contentType) || contentType.startsWith("text/");
}

function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // Its type says text, its bytes do not: it is told by its size.
    return undefined;
  }
}

/** Drops white space between tokens only; numbers and names stay as they were written. */
function compactJson(text: string): string {
  return text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, (_, string: string | undefined) => string ?? "");
}

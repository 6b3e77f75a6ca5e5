import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import { compactJson } from "./exact-text.js";
import type { FieldValue } from "./field.js";
import { foldLines, INLINE_COLUMNS } from "./fold.js";
import { isValidJson, jsonLines } from "./json-lines.js";
import { clean, count, displayWidth, shorten } from "./text.js";

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
  const text = textOf(contentType, body.value);
  if (text === undefined || text === "") return size;
  return shorten(isJson(contentType) ? compactJson(text) : text, shownMax);
}

/** Most lines of content that are shown below its name. */
const LINES_MAX = 40;

/** The same as the value of a field: JSON that is long by its members, in lines that fit. */
export function payloadField(payload: Payload | undefined): FieldValue {
  if (payload === undefined) return undefined;
  const text = describePayload(payload);
  if (displayWidth(clean(text)) <= INLINE_COLUMNS) return text;
  const { body, contentType, encoding } = payload;
  const isPlain = encoding === "" && body.case === "data";
  const whole = isPlain ? textOf(contentType, body.value) : undefined;
  if (whole === undefined || whole === "") return shownLines([clean(text)]);
  return isJson(contentType) ? jsonField(whole, text) : shownLines([clean(whole)]);
}

/** JSON as the value of a field. `instead` stands for what is no JSON. */
export function jsonField(text: string, instead: string = text): FieldValue {
  if (!isValidJson(text)) return shownLines([clean(instead)]);
  const compact = compactJson(text);
  return displayWidth(compact) <= INLINE_COLUMNS ? compact : shownLines(jsonLines(compact));
}

function shownLines(lines: readonly string[]): string[] {
  const folded = foldLines(lines.map(clean));
  const more = folded.length - LINES_MAX;
  return more <= 0
    ? folded
    : [...folded.slice(0, LINES_MAX), `    … ${count(more, "more line")}: --json has all`];
}

/** True for content types of JSON. */
export function isJson(contentType: string): boolean {
  return /^application\/(?:[\w.-]+\+)?json\b/i.test(contentType);
}

function isText(contentType: string): boolean {
  return isJson(contentType) || /^text\//i.test(contentType);
}

/** The text of content whose type and bytes say that it is text. */
export function textOf(contentType: string, bytes: Uint8Array): string | undefined {
  return isText(contentType) ? decodeText(bytes) : undefined;
}

function decodeText(bytes: Uint8Array): string | undefined {
  try {
    // A byte order mark is content as well.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // Its type says text, its bytes do not: it is told by its size.
    return undefined;
  }
}

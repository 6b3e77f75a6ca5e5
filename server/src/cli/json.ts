import {
  createRegistry,
  type DescMessage,
  type JsonValue,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";

/** JSON as it is printed: values of protobuf's JSON form among plain objects. */
export type Json = JsonValue;

const registry = createRegistry();

/**
 * A message in protobuf's JSON form: lowerCamelCase names, 64-bit numbers as strings, times in RFC 3339, bytes in
 * base64. Fields that hold their zero are printed too, so that a script always finds them; absent ones are not.
 */
export function messageJson<D extends DescMessage>(desc: D, message: MessageShape<D>): Json {
  return toJson(desc, message, { alwaysEmitImplicit: true, registry });
}

/** The same as an object, to which a command adds fields of its own. */
export function messageFields<D extends DescMessage>(
  desc: D,
  message: MessageShape<D>,
): { [name: string]: Json } {
  const json = messageJson(desc, message);
  return typeof json === "object" && json !== null && !Array.isArray(json) ? json : {};
}

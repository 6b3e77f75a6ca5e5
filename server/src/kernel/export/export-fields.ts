/** Reads the fields of a line of an export, which anybody may have written. All throw a `TypeError` that says what was expected. */

/** An object of JSON. */
export type Fields = Readonly<Record<string, unknown>>;

/** True for an object that is no array. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A text. */
export function textIn(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value === "string") return value;
  throw new TypeError(`Expected ${name} to be a text, but it is ${describe(value)}`);
}

/** A whole number from 0, as a number or, as protobuf's JSON writes large ones, as a text. */
export function numberIn(fields: Fields, name: string): number {
  const value = fields[name];
  const number = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number >= 0) return number;
  throw new TypeError(`Expected ${name} to be a whole number, but it is ${describe(value)}`);
}

/** True or false. */
export function booleanIn(fields: Fields, name: string): boolean {
  const value = fields[name];
  if (typeof value === "boolean") return value;
  throw new TypeError(`Expected ${name} to be true or false, but it is ${describe(value)}`);
}

/** Bytes in base64, in the one way to write them. */
export function bytesIn(fields: Fields, name: string): Uint8Array {
  const text = textIn(fields, name);
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") === text) return new Uint8Array(bytes);
  throw new TypeError(`Expected ${name} to be bytes in base64, but it is another text`);
}

/** An object. */
export function objectIn(fields: Fields, name: string): Fields {
  const value = fields[name];
  if (isFields(value)) return value;
  throw new TypeError(`Expected ${name} to be an object, but it is ${describe(value)}`);
}

function describe(value: unknown): string {
  return value === undefined ? "left out" : `another value (${typeof value})`;
}

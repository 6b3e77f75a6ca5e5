import { JSON_PATH_LENGTH_MAX } from "@pawl/server/rpc/digest/json-refusal.js";
import { readStrictJson, type StrictJson } from "@pawl/server/rpc/digest/strict-json.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readContentDigestVectors } from "../../vectors/read-vectors.js";

const read = (text: string): StrictJson => readStrictJson(Buffer.from(text, "utf8"));

function isWellFormed(text: string): boolean {
  return Buffer.from(text, "utf8").toString("utf8") === text;
}

function parseOrUndefined(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

describe("strict JSON", () => {
  const { digests, refusals } = readContentDigestVectors();

  it("has at least 15 vectors of refusals", () => {
    expect(refusals.length).toBeGreaterThanOrEqual(15);
  });

  it.each(refusals)("refuses by name and place: $name", ({ data, reason, offset, path }) => {
    const result = readStrictJson(Buffer.from(data, "hex"));
    expect(result).toEqual({
      ok: false,
      refusal: {
        code: "PAWL_JSON_REFUSED",
        reason,
        offset,
        path,
        message: expect.stringMatching(/^Expected .*, but at byte \d+.* there is .*; .*\.$/s),
      },
    });
  });

  it.each(digests)("reads: $name", ({ data }) => {
    const bytes = Buffer.from(data, "hex");
    expect(readStrictJson(bytes)).toEqual({ ok: true, value: JSON.parse(bytes.toString("utf8")) });
  });

  it("says in a sentence what is wrong, where, and what to do", () => {
    const result = read('{"items":[{"id":12345678901234567890}]}');
    expect(result.ok ? "" : result.refusal.message).toBe(
      "Expected JSON that every reader understands alike, but at byte 16 (/items/0/id) there is an integer beyond " +
        "2^53; send it as a string.",
    );
  });

  it("keeps a __proto__ member as data and touches no prototype", () => {
    const result = read('{"__proto__":{"admin":true}}');
    const value = result.ok ? result.value : null;
    expect(Object.keys(value ?? {})).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.hasOwn(Object.prototype, "admin")).toBe(false);
  });

  it("survives a document that is nothing but depth", () => {
    const result = read("[".repeat(1_000_000));
    expect(result.ok ? "" : result.refusal.reason).toBe("too_deep");
    const objects = read('{"a":'.repeat(101));
    expect(objects.ok ? "" : objects.refusal.reason).toBe("too_deep");
  });

  it("cuts a pointer that would be longer than the document is worth", () => {
    const result = read(`{"${"k".repeat(1000)}":1e999}`);
    const path = result.ok ? "" : result.refusal.path;
    expect(path).toBe(`/${"k".repeat(JSON_PATH_LENGTH_MAX - 2)}…`);
  });
});

describe("strict JSON beside JSON.parse", () => {
  // Pieces of documents, good and bad, from which random texts are put together.
  const piece = fc.constantFrom(
    ...[
      '{"a":1}',
      '{"a":',
      '{"b":2,',
      '"',
      "\\u00e9",
      "\\ud83d",
      "\\ude02",
      "\\n",
      "\\x",
      ":",
      ",",
    ],
    ...["[", "]", "{", "}", "0", "-", "1", ".5", "e", "E+9", "e400", " ", "\n", "true", "nul", "é"],
    ...["9007199254740993", '"a"', '"b"', "/", "\u2028", "\u0001", "NaN", "null"],
  );
  const soup = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
  const damaged = fc
    .tuple(fc.json(), fc.nat(), fc.nat({ max: 2 }), piece)
    .map(([json, seed, drop, insert]) => {
      const at = seed % (json.length + 1);
      return json.slice(0, at) + insert + json.slice(at + drop);
    });
  const texts = fc.oneof(fc.json(), damaged, soup).filter(isWellFormed);

  it("accepts no text that JSON.parse refuses, and gives the same value for what it accepts", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = parseOrUndefined(text);
        const result = read(text);
        if (result.ok) expect(parsed).toEqual({ value: result.value });
        else if (parsed === undefined) expect(result.ok).toBe(false);
        else
          expect(["syntax", "not_a_number", "invalid_utf8"]).not.toContain(result.refusal.reason);
      }),
      { numRuns: 5000 },
    );
  });

  it("accepts whatever JSON.stringify writes of values within its bounds", () => {
    const value = fc.jsonValue({ noUnicodeString: false, maxDepth: 6 });
    fc.assert(
      fc.property(value, fc.constantFrom(0, 2), (plain, indent) => {
        const text = JSON.stringify(plain, undefined, indent);
        const integerTooLong = /(?<![\d.eE+"\w-])-?\d{17,}(?![\d.eE])/.test(text);
        fc.pre(!integerTooLong && isWellFormed(text) && !/\\u[dD][89a-fA-F]/.test(text));
        expect(read(text)).toEqual({ ok: true, value: JSON.parse(text) });
      }),
    );
  });
});

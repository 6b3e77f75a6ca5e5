import { exactJson, exactLine, exactText } from "@pawl/server/cli/format/exact-text.js";
import { clean } from "@pawl/server/cli/format/text.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

/** Characters by which one text can be made to look like another, or like none. */
const unseen: readonly (readonly [string, string])[] = [
  ["blank without width", "\u200b"],
  ["non-joiner", "\u200c"],
  ["joiner", "\u200d"],
  ["mark from left to right", "\u200e"],
  ["mark from right to left", "\u200f"],
  ["Arabic mark", "\u061c"],
  ["byte order mark", "\ufeff"],
  ["end of line", "\u2028"],
  ["end of paragraph", "\u2029"],
  ["embedding", "\u202a"],
  ["override", "\u202e"],
  ["isolate", "\u2066"],
  ["end of isolate", "\u2069"],
  ["word joiner", "\u2060"],
  ["soft hyphen", "\u00ad"],
  ["C1 control that begins a sequence", "\u009b"],
  ["next line", "\u0085"],
  ["delete", "\u007f"],
  ["Hangul filler", "\u3164"],
  ["variation selector", "\ufe0f"],
];

describe("what is not seen", () => {
  it.each(unseen)("is shown as an escape: %s", (_, character) => {
    const escaped = `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
    expect(clean(`pay${character}me`)).toBe(`pay${escaped}me`);
    expect(exactText(`pay${character}me`)).toBe(`"pay${escaped}me"`);
    expect(exactJson(`{"a":"pay${character}me"}`)).toBe(`{"a":"pay${escaped}me"}`);
    expect(exactLine(`pay${character}me`)).toBe(`pay${escaped}me`);
  });

  it("is shown as an escape: a tag beyond 16 bits, as JSON escapes it", () => {
    expect(exactJson('"\u{e0041}"')).toBe('"\\udb40\\udc41"');
    expect(JSON.parse(exactJson('"\u{e0041}"'))).toBe("\u{e0041}");
  });
});

describe("exact text", () => {
  it.each([
    ["account-7", "account-7"],
    ["déjà vu, 日本", "déjà vu, 日本"],
    ["", '""'],
    ["(empty)", "(empty)"],
    ['""', '"\\"\\""'],
    [" account-7", '" account-7"'],
    ["account-7\u00a0", '"account-7\\u00a0"'],
    ["a\u00a0b", '"a\\u00a0b"'],
    ["a\\nb", '"a\\\\nb"'],
    ["a\nb", '"a\\nb"'],
    ["\u00e9", "\u00e9"],
    ["e\u0301", '"e\\u0301"'],
  ])("shows %j as %s", (text, shown) => {
    expect(exactText(text)).toBe(shown);
  });

  it("never shows two texts alike", () => {
    const alphabet = fc.constantFrom(
      ...["a", "e", "\u0301", "\u00e9", " ", "\u00a0", "\\", '"', "n", "\n", "\u200b", "u"],
      ...["2", "0", "b", "\ufeff", "(", ")"],
    );
    const text = fc.string({ unit: alphabet, maxLength: 8 });
    fc.assert(
      fc.property(text, text, (one, other) => {
        fc.pre(one !== other);
        expect(exactText(one)).not.toBe(exactText(other));
        expect(exactLine(one)).not.toBe(exactLine(other));
        expect(exactText(one)).toMatch(/^(?:[\p{P} ]|[\p{L}\p{N}]\p{M}*)*$/u);
      }),
      { numRuns: 2_000 },
    );
  });

  it("shows JSON as JSON of the same value", () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), (text) => {
        expect(JSON.parse(exactJson(text))).toEqual(JSON.parse(text));
      }),
    );
  });
});

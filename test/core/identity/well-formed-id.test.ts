import { checkId, type IdProblem } from "@pawl/server/core/identity/well-formed-id.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const refused: readonly (readonly [string, string, Omit<IdProblem, "field">])[] = [
  ["an empty id", "", { bound: "not_empty", expected: "1 to 200 bytes of UTF-8", actual: "empty" }],
  [
    "201 bytes of ASCII",
    "x".repeat(201),
    { bound: "bytes_max", expected: "1 to 200 bytes of UTF-8", actual: "201 bytes" },
  ],
  [
    "an astral character across the bound",
    `${"x".repeat(197)}😂`,
    { bound: "bytes_max", expected: "1 to 200 bytes of UTF-8", actual: "201 bytes" },
  ],
  [
    "101 letters of two bytes",
    "é".repeat(101),
    { bound: "bytes_max", expected: "1 to 200 bytes of UTF-8", actual: "202 bytes" },
  ],
  [
    "NUL",
    "ab\0",
    { bound: "no_nul", expected: "text without NUL", actual: "a text with NUL at character 2" },
  ],
  [
    "a lone high surrogate",
    "a\ud83d",
    {
      bound: "well_formed_unicode",
      expected: "well-formed Unicode",
      actual: "a text with the lone surrogate U+D83D at character 1",
    },
  ],
  [
    "a lone low surrogate",
    "\udc00a",
    {
      bound: "well_formed_unicode",
      expected: "well-formed Unicode",
      actual: "a text with the lone surrogate U+DC00 at character 0",
    },
  ],
];

describe("checkId", () => {
  it.each([
    ["one letter", "a"],
    ["white space", " "],
    ["200 bytes of ASCII", "x".repeat(200)],
    ["an astral character that ends at byte 200", `${"x".repeat(196)}😂`],
    ["50 astral characters", "😂".repeat(50)],
    ["100 letters of two bytes", "é".repeat(100)],
    ["slashes, percent signs, quotes", "a/b%2F'\"\\"],
    ["control characters other than NUL", "\u0001\u007f\n"],
    ["noncharacters", "\ufffe\uffff"],
  ])("accepts %s", (_, value) => {
    expect(checkId("run_id", value)).toBeUndefined();
  });

  it.each(refused)("refuses %s", (_, value, problem) => {
    expect(checkId("task", value, "tasks[2].name")).toEqual({ field: "tasks[2].name", ...problem });
  });

  it("names the kind when the caller names no field", () => {
    expect(checkId("queue", "")?.field).toBe("queue");
  });

  it("allows a target to be empty and to have 1,024 bytes, no more", () => {
    expect(checkId("target", "")).toBeUndefined();
    expect(checkId("target", "x".repeat(1024))).toBeUndefined();
    expect(checkId("target", "x".repeat(1025))).toEqual({
      field: "target",
      bound: "bytes_max",
      expected: "0 to 1024 bytes of UTF-8",
      actual: "1025 bytes",
    });
  });

  it("reports the first rule broken: ill-formed before NUL, NUL before too long", () => {
    expect(checkId("run_id", `\0\ud800${"x".repeat(300)}`)?.bound).toBe("well_formed_unicode");
    expect(checkId("run_id", `\0${"x".repeat(300)}`)?.bound).toBe("no_nul");
  });

  it("accepts exactly the well-formed texts of 1 to 200 bytes without NUL", () => {
    const units = fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constantFrom(0, 0xd83d, 0xde02));
    const text = fc.array(units, { maxLength: 90 }).map((list) => String.fromCharCode(...list));
    fc.assert(
      fc.property(fc.oneof(text, fc.string({ unit: "binary", maxLength: 70 })), (value) => {
        const bytes = Buffer.from(value, "utf8");
        const good =
          bytes.toString("utf8") === value &&
          bytes.length >= 1 &&
          bytes.length <= 200 &&
          !bytes.includes(0);
        expect(checkId("run_id", value) === undefined).toBe(good);
      }),
      { numRuns: 500 },
    );
  });
});

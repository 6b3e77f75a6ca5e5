import { wantsColour } from "@pawl/server/cli/context.js";
import { createStyle } from "@pawl/server/cli/format/style.js";
import { renderTable } from "@pawl/server/cli/format/table.js";
import { clean, count, displayWidth, sentence, shorten } from "@pawl/server/cli/format/text.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

describe("text of others", () => {
  it.each([
    ["\u001b[31mred\u001b[0m", "\\u001b[31mred\\u001b[0m"],
    ["two\nlines\tand\r", "two\\nlines\\tand\\r"],
    ["\u202eevil", "\\u202eevil"],
    ["déjà vu, 日本", "déjà vu, 日本"],
  ])("%j is shown in one safe line", (text, shown) => {
    expect(clean(text)).toBe(shown);
  });

  it("never keeps a character that moves the cursor", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
        expect(clean(text)).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
      }),
    );
  });

  it.each([
    ["plain", 5],
    ["日本", 4],
    ["é", 1],
    ["👩‍👩‍👧 ok", 5],
  ])("%j takes %i columns", (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });

  it("is cut visibly, between characters", () => {
    expect(shorten("abcdef", 6)).toBe("abcdef");
    expect(shorten("abcdefg", 6)).toBe("abcde…");
    expect(shorten("👍👍👍", 2)).toBe("👍…");
  });

  it("becomes a sentence once", () => {
    expect(sentence("it waits")).toBe("it waits.");
    expect(sentence("it waits.")).toBe("it waits.");
    expect(sentence("")).toBe("");
  });

  it("counts with its noun", () => {
    expect([count(1, "task"), count(0, "task"), count(1234n, "task")]).toEqual([
      "1 task",
      "0 tasks",
      "1,234 tasks",
    ]);
  });
});

describe("a table", () => {
  const plain = createStyle(false);

  it("aligns by columns on the terminal, and leaves no blanks at the end", () => {
    const rows = [
      ["a", "日本", "x"],
      ["long name", "b", ""],
    ];
    expect(renderTable(["NAME", "PLACE", "END"], rows, plain)).toEqual([
      "NAME       PLACE  END",
      "a          日本   x",
      "long name  b",
    ]);
  });

  it("leaves out a column that says nothing", () => {
    expect(renderTable(["A", "B", "C"], [["1", "", "3"]], plain)).toEqual(["A  C", "1  3"]);
  });

  it("shows a state as a word, with or without colour", () => {
    const rows = [[{ text: "FAILED", look: "bad" } as const, "why"]];
    const coloured = renderTable(["STATUS", "WHY"], rows, createStyle(true));
    expect(coloured[1]).toBe("\u001b[31mFAILED\u001b[39m  why");
    expect(renderTable(["STATUS", "WHY"], rows, plain)[1]).toBe("FAILED  why");
  });
});

describe("colour", () => {
  it.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: "1" }, false],
    [true, { NO_COLOR: "" }, true],
    [true, { TERM: "dumb" }, false],
  ])("on a terminal: %s, with %j, is used: %s", (isTerminal, env, expected) => {
    expect(wantsColour(isTerminal, env)).toBe(expected);
  });
});

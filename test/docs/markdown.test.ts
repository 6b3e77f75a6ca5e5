import { describe, expect, it } from "vitest";
import {
  readAnchors,
  readFences,
  readInlineCode,
  readLinks,
  readProse,
  readTable,
} from "./support/markdown.js";

const page = `# A page: of \`code\` & more

See [one](a.md), [two](b.md#part "title") and [three][ref]. \`[not](a-link)\` is code.

## Part
## Part

| a | b |
| - | - |
| 1 | \`x\` |

\`\`\`ts
const a = 1; // [no](link)
\`\`\`

<!-- fragment -->

\`\`\`\`ts
\`\`\`
\`\`\`\`

## [Last](x.md) one

| a |
| - |
| 2 |

[ref]: c.md
`;

describe("what the tests of the documentation read of a page", () => {
  it("are its fences, with language, line and mark", () => {
    expect(readFences(page)).toEqual([
      {
        language: "ts",
        line: 13,
        text: "const a = 1; // [no](link)",
        isFragment: false,
      },
      { language: "ts", line: 19, text: "```", isFragment: true },
    ]);
  });

  it("is prose without them", () => {
    expect(readProse(page).map(({ text }) => text)).not.toContain("const a = 1; // [no](link)");
  });

  it("are the anchors of its headings, numbered where they repeat", () => {
    expect([...readAnchors(page)]).toEqual(["a-page-of-code--more", "part", "part-1", "last-one"]);
  });

  it("are its links, but none in code", () => {
    const targets = readLinks(page).map(({ target, line }) => `${line} ${target}`);
    expect(targets).toEqual(["3 a.md", "3 b.md#part", "22 x.md", "28 c.md"]);
  });

  it("is its inline code", () => {
    expect(readInlineCode(page).map(({ text }) => text)).toEqual(["code", "[not](a-link)", "x"]);
  });

  it("are the rows of a table below a heading", () => {
    expect(readTable(page, "Part")).toEqual([]);
    expect(readTable(page, "Last](x.md) one")).toEqual([["2"]]);
    expect(() => readTable(page, "None")).toThrow("there is none");
  });

  it("is nothing when a fence is left open", () => {
    expect(() => readFences("```ts\n")).toThrow("line 1");
  });
});

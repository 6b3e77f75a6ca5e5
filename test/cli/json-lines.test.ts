import { create } from "@bufbuild/protobuf";
import { PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import { foldLines } from "@pawl/server/cli/format/fold.js";
import { jsonLines } from "@pawl/server/cli/format/json-lines.js";
import { payloadField } from "@pawl/server/cli/format/payload.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const letter = {
  to: ["ada@example.com", "ben@example.com"],
  subject: "What is left to do after the incident of Monday",
  body: { text: "We refused payments for 47 minutes.", parts: [{ n: 1 }, { n: 2 }], none: {} },
};

describe("JSON in lines", () => {
  it("gives each member a line where all of it does not fit in one", () => {
    expect(jsonLines(JSON.stringify(letter))).toEqual([
      "{",
      '  "to": ["ada@example.com", "ben@example.com"],',
      '  "subject": "What is left to do after the incident of Monday",',
      '  "body": {',
      '    "text": "We refused payments for 47 minutes.",',
      '    "parts": [{"n": 1}, {"n": 2}],',
      '    "none": {}',
      "  }",
      "}",
    ]);
  });

  it("leaves numbers, names and strings as they were written", () => {
    const text = `{"n":9007199254740993,"n":1.0,"s":"a, b: {c} \\"d\\" \\u0041","x":"${"y".repeat(60)}"}`;
    expect(jsonLines(text)).toEqual([
      "{",
      '  "n": 9007199254740993,',
      '  "n": 1.0,',
      '  "s": "a, b: {c} \\"d\\" \\u0041",',
      `  "x": "${"y".repeat(60)}"`,
      "}",
    ]);
  });

  it("keeps together what is empty, also behind a name that fills the line", () => {
    const [long, other] = ["x".repeat(100), "y".repeat(100)];
    expect(jsonLines(`{"${long}":{},"${other}":[]}`)).toEqual([
      "{",
      `  "${long}": {},`,
      `  "${other}": []`,
      "}",
    ]);
  });

  it("is JSON of the same value, whatever it is", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        expect(JSON.parse(jsonLines(text).join("\n"))).toEqual(JSON.parse(text));
      }),
    );
  });

  it("is not moved out of sight by its depth, nor too deep to be shown", () => {
    const depth = 20_000;
    const lines = jsonLines(`${"[".repeat(depth)}${"]".repeat(depth)}`);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(74);
  });
});

it("text that is too long to show says where all of it is", () => {
  const text = "x".repeat(10_000);
  const body = { case: "data", value: new TextEncoder().encode(text) } as const;
  const shown = payloadField(create(PayloadSchema, { contentType: "text/plain", body }));
  expect(shown?.at(-1)).toBe("    … 96 more lines: --json has all");
});

describe("lines that are too long", () => {
  it("go on behind a mark of their own, no blank unseen and no escape cut", () => {
    const words = `${"x".repeat(72)}   ${"y".repeat(69)}\\u200bz`;
    expect(foldLines(["short", words])).toEqual([
      "    | short",
      `    | ${"x".repeat(72)}\\u0020`,
      `    >   ${"y".repeat(69)}`,
      "    > \\u200bz",
    ]);
  });

  it("go on at a blank, and where the text itself has an end of line", () => {
    const text = `"body": "Impact:\\n- ${"3 of 9 ".repeat(9)}payments failed.\\n- all is well"`;
    expect(foldLines([text])).toEqual([
      '    | "body": "Impact:\\n',
      `    > - ${"3 of 9 ".repeat(9)}payments`,
      "    >  failed.\\n",
      '    > - all is well"',
    ]);
  });

  it("keep to the width where letters are wide", () => {
    expect(foldLines(["日".repeat(40)])).toEqual([
      `    | ${"日".repeat(37)}`,
      `    > ${"日".repeat(3)}`,
    ]);
  });
});

describe("content as the value of a name", () => {
  const of = (contentType: string, text: string): ReturnType<typeof payloadField> =>
    payloadField(
      create(PayloadSchema, {
        contentType,
        body: { case: "data", value: new TextEncoder().encode(text) },
      }),
    );

  it("stands beside it where it is short, and below it where it is not", () => {
    expect(of("application/json", '{ "a": 1 }')).toBe('{"a":1}');
    expect(of("application/json", JSON.stringify(letter))).toHaveLength(9);
    expect(of("text/plain", "w".repeat(80))).toEqual([
      `    | ${"w".repeat(74)}`,
      `    > ${"w".repeat(6)}`,
    ]);
  });

  it("says how much is left out", () => {
    const shown = of("application/json", JSON.stringify(Array.from({ length: 100 }, () => "word")));
    expect(shown).toHaveLength(41);
    expect(shown?.at(-1)).toBe("    … 62 more lines: --json has all");
  });

  it("that calls itself JSON and is none is shown as it is", () => {
    expect(of("application/json", `{${"x".repeat(70)}`)).toEqual([`    | {${"x".repeat(70)}`]);
  });
});

import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { GetRecoveryReportResponseSchema, RecoveryClass } from "@pawl/proto/v1/recovery_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { markdownCode, markdownText } from "@pawl/server/cli/format/markdown.js";
import { reportMarkdown } from "@pawl/server/cli/format/report-markdown.js";
import { describe, expect, test } from "vitest";

describe("a recovery report in Markdown", () => {
  const report = create(GetRecoveryReportResponseSchema, {
    runId: "order-7",
    status: RunStatus.RUNNING,
    why: "It waits for a person",
    incarnation: 1,
    presentIncarnation: 1,
    eventCount: 9,
    totals: [
      { class: RecoveryClass.RETRIED, tasks: 1 },
      { class: RecoveryClass.NEEDS_REVIEW, operations: 1 },
    ],
    lines: [
      {
        class: RecoveryClass.RETRIED,
        task: "pay",
        sentence: "It took 2 attempts.",
        eventNumbers: [2, 5],
        attemptsUsed: 2,
        attemptsMax: 5,
        endedAt: timestampFromMs(1_760_000_000_000),
        proof: {
          eventNumber: 5,
          sequence: 12n,
          holder: { case: "chunk", value: { number: 0, hash: new Uint8Array(32).fill(0xab) } },
        },
      },
      {
        class: RecoveryClass.NEEDS_REVIEW,
        task: "pay",
        operationKey: "k",
        sentence: "Nobody knows.",
        eventNumbers: [3],
      },
    ],
  });

  test("says first how it stands and what needs a person, and folds all else", () => {
    expect(reportMarkdown(report)).toEqual([
      "# Recovery report: run `order-7`",
      "",
      "**RUNNING.** It waits for a person\\. 1 retried, 1 needs review.",
      "",
      "| class | tasks | operations |",
      "| --- | --- | --- |",
      "| retried | 1 | 0 |",
      "| needs review | 0 | 1 |",
      "",
      "## Needs a person",
      "",
      "- `pay` / `k`: Nobody knows\\. (events 3)",
      "",
      "<details><summary>retried (1)</summary>",
      "",
      "| task | operation | what happened | attempts | ended | proof |",
      "| --- | --- | --- | --- | --- | --- |",
      "| `pay` |  | It took 2 attempts\\. | 2 of 5 | 2025-10-09T08:53:20.000Z | (events 2, 5; sequence 12, in chunk 0, hash abababababababab…) |",
      "",
      "</details>",
      "",
      "Computed from 9 events of the log.",
    ]);
  });

  test("stays one ticket, whatever runs, tasks and failures are called", () => {
    const evil = "a|b `c` </details>\n# d <script>@all [x](y)";
    const lines = reportMarkdown({
      ...report,
      runId: evil,
      why: evil,
      lines: report.lines.map((line) => ({ ...line, task: evil, sentence: evil })),
    });
    expect(lines.join("\n").split("\n")).toHaveLength(reportMarkdown(report).length);
    expect(lines.filter((line) => line.startsWith("# "))).toHaveLength(1);
    // Seven borders that nothing holds back: as in the heading, six cells.
    const rows = lines.filter((line) => line.includes("2 of 5"));
    expect(rows.map((row) => row.match(/(?<!\\)\|/g)?.length)).toEqual([7]);
    const outsideCode = lines.map((line) => line.replace(/``.*?``/g, ""));
    expect(outsideCode.filter((line) => line.includes("</details>"))).toEqual(["</details>"]);
    expect(outsideCode.join("\n")).not.toContain("<script>");
    expect(outsideCode.join("\n")).not.toContain("@all");
  });
});

describe("text from elsewhere", () => {
  test.each([
    ["plain words", "plain words"],
    ["a|b", "a\\|b"],
    ["`x`", "\\`x\\`"],
    ["<b>&amp;", "&lt;b&gt;&amp;amp;"],
    ["# no heading", "\\# no heading"],
    ["two\nlines", "two\\\\nlines"],
    ["@ann", "@<!-- --\\>ann".replace("\\>", ">")],
    ["see #12", "see \\#<!-- -->12"],
    ["https://x.test/a", "https:<!-- -->//x\\.test/a"],
    ["1. no list", "1\\. no list"],
    ["a_b*c~d", "a\\_b\\*c\\~d"],
  ])("%j is shown as it is", (text, markdown) => {
    expect(markdownText(text)).toBe(markdown);
  });

  test.each([
    ["", ""],
    ["name", "`name`"],
    ["a`b", "``a`b``"],
    ["`", "`` ` ``"],
    ["a``b", "```a``b```"],
    ["a|b", "`a|b`"],
    ["<i>@ann", "`<i>@ann`"],
    [" x", "`  x `"],
    ["two\nlines", "`two\\nlines`"],
  ])("the name %j is code", (text, markdown) => {
    expect(markdownCode(text)).toBe(markdown);
  });
});

import { exitCodes } from "@pawl/server/cli/exit-codes.js";
import { WATERMARKS_DEFAULT } from "@pawl/server/log/watermark.js";
import { describe, expect, it } from "vitest";
import { listTextFiles } from "../tidy/source-file.js";
import { readTable } from "./support/markdown.js";
import { pageAt } from "./support/pages.js";

const page = pageAt("docs/operate/running.md");

describe("docs/operate/running.md", () => {
  it("says what to do about every refusal of a store", () => {
    const sources = listTextFiles((path) => /^server\/src\/log\/.*\.ts$/.test(path));
    const raised = sources.flatMap(
      ({ text }) => text.match(/(?<=")PAWL_STORE_[A-Z_]+(?=")/g) ?? [],
    );
    expect(new Set(raised).size).toBeGreaterThan(6);
    const rows = readTable(page, "When a folder is refused");
    const told = rows.map(([reason = ""]) => reason.replaceAll("`", ""));
    expect(told.toSorted()).toEqual([...new Set(raised)].toSorted());
    for (const [, what, next] of rows) expect([what, next]).not.toContain("");
  });

  it("lists the exit codes that pawl serve ends with", () => {
    const { unavailable, unanswered, ...ofServe } = exitCodes;
    const told = readTable(page, "Start, stop, restart").map(([code]) => Number(code));
    expect(told).toEqual(Object.values(ofServe));
    expect([unavailable, unanswered]).toEqual([69, 75]);
  });

  it("tells when the disk is low, and when it is well again", () => {
    const mib = WATERMARKS_DEFAULT.newRunsBytesMin / (1024 * 1024);
    expect(page).toContain(`Below ${mib} MiB new runs are refused`);
    expect(page).toContain(`from ${mib * 1.25} MiB on they are taken again`);
  });
});

import { existsSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { REPOSITORY, type TextFile } from "../tidy/source-file.js";
import { readAnchors, readLinks } from "./support/markdown.js";
import { allPages } from "./support/pages.js";

const anchors = new Map(allPages.map(({ path, text }) => [path, readAnchors(text)]));

/** Says of each relative link that leads nowhere what is missing. */
function findDeadLinks({ path, text }: TextFile): string[] {
  return readLinks(text).flatMap(({ target, line }) => {
    if (/^[a-z][a-z+.-]*:/i.test(target)) return [];
    const [file = "", anchor = ""] = target.split("#");
    const to = file === "" ? path : posix.join(posix.dirname(path), decodeURI(file));
    const problem = findProblem(to, anchor);
    return problem === undefined ? [] : [`${path}:${line}: ${target}: ${problem}`];
  });
}

function findProblem(path: string, anchor: string): string | undefined {
  if (path.startsWith("..")) return "leads out of the repository";
  if (!existsSync(join(REPOSITORY, path))) return `there is no ${path}`;
  if (anchor === "") return undefined;
  if (statSync(join(REPOSITORY, path)).isDirectory()) return `${path} is a folder`;
  return anchors.get(path)?.has(anchor) === true ? undefined : `${path} has no such heading`;
}

describe("the links of all pages", () => {
  it("are there to be followed", () => {
    expect(allPages.length).toBeGreaterThan(40);
    expect(allPages.flatMap(({ text }) => readLinks(text)).length).toBeGreaterThan(40);
  });

  it("lead to a file, and to a heading of it", () => {
    expect(allPages.flatMap(findDeadLinks)).toEqual([]);
  });

  it.each([
    ["docs/x.md", "[a](none.md)", "there is no docs/none.md"],
    ["docs/x.md", "[a](../ARCHITECTURE.md#no-such-heading)", "has no such heading"],
    ["docs/x.md", "[a](../../elsewhere)", "leads out of the repository"],
    ["docs/x.md", "[a](errors/#b)", "is a folder"],
  ])("would be found dead: in %s, %s", (path, text, problem) => {
    expect(findDeadLinks({ path, text })).toEqual([expect.stringContaining(problem)]);
  });

  it("of the web are left alone", () => {
    const text = "[a](https://example.com/none#b) [c](../ARCHITECTURE.md#the-problem)";
    expect(findDeadLinks({ path: "docs/x.md", text })).toEqual([]);
  });
});

describe("docs/README.md", () => {
  it("leads to every page of the documentation, but the reasons of errors and decisions", () => {
    const index = allPages.find(({ path }) => path === "docs/README.md")?.text ?? "";
    const linked = new Set(
      readLinks(index).map(({ target }) => posix.join("docs", target.split("#")[0] ?? "")),
    );
    const pages = allPages
      .map(({ path }) => path)
      .filter((path) => path.startsWith("docs/") && path !== "docs/README.md")
      .filter((path) => !/^docs\/(?:errors\/PAWL_|decisions\/)/.test(path));
    expect(pages.length).toBeGreaterThan(10);
    expect(pages.filter((path) => !linked.has(path))).toEqual([]);
  });
});

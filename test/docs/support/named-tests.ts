import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { REPOSITORY } from "../../tidy/source-file.js";
import { readProse } from "./markdown.js";
import { pageAt } from "./pages.js";

/** A test that a page names as what holds a sentence. */
export interface NamedTest {
  /** The heading that it stands under. */
  readonly heading: string;
  readonly title: string;
  /** File of the test, in the repository. */
  readonly file: string;
}

/** The tests that a page names, as `"title" ([file](path))`, in its lists and tables. */
export function readNamedTests(page: string): NamedTest[] {
  let heading = "";
  return readProse(pageAt(page)).flatMap(({ text }) => {
    heading = /^##+ (.*)$/.exec(text)?.[1] ?? heading;
    const found = text.matchAll(/"([^"]+)" \(\[[^\]]+\]\(([^)]+)\)\)/g);
    return [...found].map(([, title = "", target = ""]) => ({
      heading,
      title,
      file: posix.join(posix.dirname(page), target),
    }));
  });
}

/** True when a file has a test, or a group, of this title. */
export function hasTitle({ title, file }: Pick<NamedTest, "title" | "file">): boolean {
  const source = readFileSync(join(REPOSITORY, file), "utf8");
  const calls = source.matchAll(
    /(?:[,(]|^)\s*("(?:\\.|[^"\\])*")\s*,\s*(?:\{[^{}]*\}, )?(?:async )?(?:\(|function)/gm,
  );
  return [...calls].some(([, literal = ""]) => literal === JSON.stringify(title));
}

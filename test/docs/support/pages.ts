import { listTextFiles, type TextFile } from "../../tidy/source-file.js";

/** Every Markdown page of the repository. */
export const allPages: readonly TextFile[] = listTextFiles((path) => path.endsWith(".md"));

/** The pages that users read: README.md and what is below docs/. */
export const userPages: readonly TextFile[] = allPages.filter(
  ({ path }) => path === "README.md" || path.startsWith("docs/"),
);

/**
 * One page.
 *
 * @throws Error when there is no such page.
 */
export function pageAt(path: string): string {
  const found = allPages.find((page) => page.path === path);
  if (found === undefined) throw new Error(`Expected a page ${path}, but there is none.`);
  return found.text;
}

/** Titles of the tests in a source, as they are written: the first argument of a test, or of what `each` gives. */
export function titlesOf(source: string): Set<string> {
  const calls =
    /(?:\b(?:test|it)|(?<!describe\.each\([^()]*)\))\(\s*(["'`])((?:\\.|(?!\1)[^\\])*)\1\s*,/gs;
  return new Set(
    [...source.matchAll(calls)].map(([, , title = ""]) => title.replace(/\\(.)/g, "$1")),
  );
}
